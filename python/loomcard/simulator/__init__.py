"""Engine 1: the same policies on a cluster of events, under a virtual clock."""
