/** What all application masters of a run share: scenario, topology, log, command line. */
package org.loomcard.yarn.player.context;
