/** The compiled policy configuration, the applied ones, and the store that keeps them. */
package org.loomcard.yarn.policyconfig;
