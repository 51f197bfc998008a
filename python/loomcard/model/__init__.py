"""Values of the domain, the mirror of the cluster, and the text that crosses the wire."""
