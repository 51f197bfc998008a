/** The swap of a running configuration for another one, tried first in a process of its own. */
package org.loomcard.yarn.swap;
