/** Where applied configurations are kept: a file system or ZooKeeper, as YARN's own state is. */
package org.loomcard.yarn.statestore;
