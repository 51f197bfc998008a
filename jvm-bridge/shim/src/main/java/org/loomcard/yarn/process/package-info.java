/**
 * The policy process: how it is started, called, watched, logged and ended. This package may use
 * {@code wire} and {@code config}. Only {@code Py4jPolicyClient} uses Py4J, and nothing here
 * uses YARN.
 */
package org.loomcard.yarn.process;
