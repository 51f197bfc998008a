/**
 * The way to the policy process and back: messages, the process, the rounds, the breaker and the
 * swap of set-ups. Nothing here knows YARN's books; they stand behind {@link
 * org.loomcard.yarn.bridge.Books}.
 */
package org.loomcard.yarn.bridge;
