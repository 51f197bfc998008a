"""Demand: workload files, seeded generators and trace readers, drawn into scenarios."""
