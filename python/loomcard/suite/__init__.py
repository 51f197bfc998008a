"""Ten benchmarks with generated data and checked results, run on a real cluster."""
