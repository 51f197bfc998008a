"""Commands for the clusters that Loomcard starts: cluster, submit, status, demo."""
