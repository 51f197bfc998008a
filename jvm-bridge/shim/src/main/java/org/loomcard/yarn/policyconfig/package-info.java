/**
 * The compiled policy configuration, the history of applied ones, the store that keeps them, and
 * the settings in yarn-site.xml. This package may use only {@code json}, and does not use YARN.
 */
package org.loomcard.yarn.policyconfig;
