"""Benchmarks and studies. They run from a checkout and are not part of the wheel."""
