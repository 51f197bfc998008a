/**
 * The scheduler that runs inside the ResourceManager. Begin with {@link
 * org.loomcard.yarn.LoomcardScheduler}: it implements YARN's interface and delegates to one class
 * each for nodes, applications, containers and AM heartbeats. This package may use every other
 * package except the web.
 */
package org.loomcard.yarn;
