"""The papers' policies on a real ResourceManager (docs/papers/experiments.md)."""
