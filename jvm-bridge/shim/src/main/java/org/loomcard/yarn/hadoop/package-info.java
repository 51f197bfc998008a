/** What differs between Hadoop lines. */
package org.loomcard.yarn.hadoop;
