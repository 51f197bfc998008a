/**
 * Replaces the running policy configuration: it is compiled and tried in a separate process, then
 * written, or rolled back. This package does not use YARN.
 */
package org.loomcard.yarn.swap;
