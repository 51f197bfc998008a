"""Overlapping faults on the real shim, and what must hold after them."""
