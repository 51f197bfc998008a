"""Commands that run policies and compare what came out: run, simulate, stress, replay, report."""
