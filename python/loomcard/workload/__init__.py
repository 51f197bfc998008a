"""Demand: workload files, seeded generators and trace readers, drawn into scenarios."""

from loomcard.workload.hints import hints
from loomcard.workload.loading import load

__all__ = ["hints", "load"]
