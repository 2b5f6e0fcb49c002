"""TCP's throughput laws, and the distribution of its windows."""
