"""The simulator beside real YARN, and our policies beside YARN's own schedulers."""
