"""Spark programs, run by the suite's own environment and not by Loomcard's.

Each is one file that imports nothing of Loomcard: `spark-submit FILE INPUT OUTPUT [NUMBER...]`.
"""
