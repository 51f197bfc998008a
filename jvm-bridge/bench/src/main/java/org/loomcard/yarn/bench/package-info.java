/** Load benchmarks of the seam: the real scheduler classes, real container life, no RPC. */
package org.loomcard.yarn.bench;
