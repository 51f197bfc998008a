"""Policies, the loop and the turns they share, and the registry that finds them."""
