"""The Coupling Scheduler (Tan, Meng, Zhang, 2013); its functions, one by one, are in ``paper``."""
