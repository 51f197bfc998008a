/**
 * The policy process: how it is started, called, watched, logged and ended. May use {@code wire}
 * and {@code policyconfig}; only {@code Py4jPolicyClient} knows Py4J, and nothing here knows YARN.
 */
package org.loomcard.yarn.process;
