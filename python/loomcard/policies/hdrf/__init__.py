"""Hierarchical Dominant Resource Fairness (Bhattacharya et al., SoCC 2013)."""
