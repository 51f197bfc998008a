"""Commands for benchmarks with checked results: suite, hibench."""
