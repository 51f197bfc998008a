"""Generators of the benchmarks' inputs, and the checks of their results.

A generator draws from one `random.Random`: equal seeds give equal bytes. A check reads the input
and the output as files and raises `WrongResultError`.
"""
