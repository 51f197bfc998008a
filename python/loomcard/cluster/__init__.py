"""Real clusters, embedded or in Docker: rendered, started, stopped, asked."""
