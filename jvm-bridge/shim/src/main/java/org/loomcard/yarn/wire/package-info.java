/** The messages to and from the policy process. */
package org.loomcard.yarn.wire;
