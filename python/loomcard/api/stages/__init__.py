"""What is known of an application's stages: its hint, remaining work, tasks, earlier runs, asks."""
