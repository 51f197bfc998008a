"""Drives a HiBench that is already there: its own scripts, our configuration, YARN's times.

Nothing of HiBench is part of this package, and its folder is left as it was.
"""
