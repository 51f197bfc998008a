"""The simulator compared with real YARN, and our policies compared with YARN's own schedulers."""
