/** The workload models: which task is asked for when. */
package org.loomcard.yarn.player.tasks;
