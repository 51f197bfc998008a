/**
 * Small values about asks, applications and containers: keys, hints, run times, kinds of ends,
 * pending updates. Uses no other package of ours.
 */
package org.loomcard.yarn.facts;
