"""Scheduling policies written in Python, run on a real Apache Hadoop YARN cluster."""
