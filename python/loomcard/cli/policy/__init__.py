"""Commands for the policy of a running cluster, and for configurations: policy."""
