"""The Coupling Scheduler (Tan, Meng, Zhang, 2013); ``paper`` has its separate functions."""
