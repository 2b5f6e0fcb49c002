"""Running scenarios: replications in threads, checkpoints, stopping rules, limits and sweeps."""
