"""Play a scenario on real YARN and record the run."""
