"""Plays a scenario on real YARN and records the run."""
