"""`loomcard demo`: real jobs on an embedded cluster, and the plot of them."""
