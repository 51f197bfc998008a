/**
 * Replaces the running policy configuration: it is compiled and tried in a process of its own, then
 * written, or rolled back. Knows nothing of YARN.
 */
package org.loomcard.yarn.swap;
