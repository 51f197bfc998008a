/**
 * A real YARN in one JVM: one ResourceManager and N NodeManagers, each with a name and a rack of
 * its own.
 */
package org.loomcard.yarn.embedded;
