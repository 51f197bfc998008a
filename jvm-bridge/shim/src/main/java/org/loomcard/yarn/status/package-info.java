/**
 * What the page and the documents show, as immutable values, and the interface by which they get
 * them. The web side uses this package and no other part of the scheduler.
 */
package org.loomcard.yarn.status;
