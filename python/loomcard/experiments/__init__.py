"""Grids of policy, workload, parameter and seed over either engine, resumable."""
