"""The papers' policies on a real ResourceManager: `make papers-reality`, docs/papers/on-yarn.md."""
