"""How fast: the bridge beside CapacityScheduler, the simulator, SLS, H-DRF, bare kernels."""
