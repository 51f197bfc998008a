"""Demand: workload files, seeded generators and trace readers, drawn into scenarios."""

from loomcard.workload.hints import hints

__all__ = ["hints"]
