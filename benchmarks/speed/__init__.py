"""Measurements of speed: the bridge compared with CapacityScheduler, the simulator, SLS, H-DRF,
bare kernels.
"""
