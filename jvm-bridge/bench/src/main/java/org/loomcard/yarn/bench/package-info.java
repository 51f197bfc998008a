/** Load benchmarks of the bridge: the real scheduler classes, real container life, no RPC. */
package org.loomcard.yarn.bench;
