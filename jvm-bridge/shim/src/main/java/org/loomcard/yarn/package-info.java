/**
 * The scheduler that runs inside the ResourceManager: it keeps YARN's books and forwards what
 * happens to a policy.
 */
package org.loomcard.yarn;
