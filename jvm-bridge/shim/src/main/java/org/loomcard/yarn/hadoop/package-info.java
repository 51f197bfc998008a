/**
 * What differs between Hadoop lines, and YARN's base classes made fit for the scheduler. Uses no
 * other package of ours, so that another Hadoop line replaces files of this package alone.
 */
package org.loomcard.yarn.hadoop;
