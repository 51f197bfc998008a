/**
 * The compiled policy configuration, the history of applied ones, the store that keeps them, and
 * the settings in yarn-site.xml. May use only {@code json}; knows nothing of YARN.
 */
package org.loomcard.yarn.policyconfig;
