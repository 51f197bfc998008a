"""How long what fits waits under policies that grant nothing, on a real YARN."""
