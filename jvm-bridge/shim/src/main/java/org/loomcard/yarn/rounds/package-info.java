/** One round: the batch goes out, the plan comes back, and what is counted of it. */
package org.loomcard.yarn.rounds;
