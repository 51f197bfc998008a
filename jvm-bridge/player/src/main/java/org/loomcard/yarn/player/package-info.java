/**
 * Application masters that play a workload on a real YARN: many in one process, each with its own
 * attempt, tokens and asks; what they start are timed containers.
 */
package org.loomcard.yarn.player;
