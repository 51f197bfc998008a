"""Overlapping faults on the real shim, and checks of what must be true after them."""
