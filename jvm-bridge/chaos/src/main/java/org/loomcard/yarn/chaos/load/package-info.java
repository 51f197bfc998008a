/** The virtual load: nodes and application masters without processes. */
package org.loomcard.yarn.chaos.load;
