/** The policy process: its start, its client, its log, its supervision. */
package org.loomcard.yarn.process;
