/**
 * The settings in yarn-site.xml, the compiled policy configuration, the history of applied ones and
 * the stores that keep them where YARN keeps its own state. Only the choice of the store and the
 * one in ZooKeeper use YARN.
 */
package org.loomcard.yarn.config;
