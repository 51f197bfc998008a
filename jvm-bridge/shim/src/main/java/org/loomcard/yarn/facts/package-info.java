/** Plain values of applications, asks and containers: keys, hints, run times, pending updates. */
package org.loomcard.yarn.facts;
