"""Preemption: what is taken back for whom, the same for every policy that has the options."""
