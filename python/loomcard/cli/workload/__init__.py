"""Commands that look into workloads, and write hints for jobs: trace, dag."""
