/** Amounts of resources, and how node labels' partitions divide them. */
package org.loomcard.yarn.amounts;
