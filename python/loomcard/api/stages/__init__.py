"""What is known about an application's stages: hint, remaining work, tasks, earlier runs, asks."""
