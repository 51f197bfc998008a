"""What is known of an application's stages: work that remains, tasks, earlier runs, marked asks."""
