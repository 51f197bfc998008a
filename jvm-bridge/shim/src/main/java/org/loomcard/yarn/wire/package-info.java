/**
 * The messages to and from the policy process, as docs/reference/wire.md states them, and the
 * events that wait to be written. May use {@code json} and {@code policyconfig}; knows nothing of
 * YARN.
 */
package org.loomcard.yarn.wire;
