/**
 * What differs between Hadoop lines, and YARN's base classes adapted to the scheduler. It uses no
 * other package of Loomcard.
 */
package org.loomcard.yarn.hadoop;
