/**
 * The messages to and from the policy process, as docs/reference/wire.md states them, and the
 * events that wait to be written. This package may use {@code json} and {@code config}; it
 * does not use YARN.
 */
package org.loomcard.yarn.wire;
