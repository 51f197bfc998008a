/** The Java side of make chaos: a ResourceManager that can be inspected, and a virtual load. */
package org.loomcard.yarn.chaos;
