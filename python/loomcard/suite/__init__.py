"""Programs that run on a real cluster: example jobs, the demo."""
