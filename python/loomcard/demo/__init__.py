"""`loomcard demo`: real jobs with a swap of the policy, then one workload under four schedulers."""
