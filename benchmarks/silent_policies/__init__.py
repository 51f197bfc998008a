"""How long an ask that fits waits under policies that allocate nothing, on a real YARN."""
