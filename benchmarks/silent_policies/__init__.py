"""How long what fits waits under policies that allocate nothing, on a real YARN."""
