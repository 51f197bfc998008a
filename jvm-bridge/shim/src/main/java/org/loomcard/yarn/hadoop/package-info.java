/**
 * What differs between Hadoop lines, and YARN's base classes adapted to the scheduler. It uses no
 * other package of Loomcard, so that another Hadoop line replaces only files of this package.
 */
package org.loomcard.yarn.hadoop;
