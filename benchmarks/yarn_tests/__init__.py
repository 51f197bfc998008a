"""YARN's own tests against FIFO, Capacity and Loomcard."""
