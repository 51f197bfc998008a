/**
 * Keeps applied configurations where YARN keeps its own state: in ZooKeeper, a file system, or a
 * local folder. It implements {@link org.loomcard.yarn.policyconfig.StateStore}.
 */
package org.loomcard.yarn.statestore;
