"""Running scenarios: experiments, threads, checkpoints, stopping rules, limits, sweeps.

Belongs here: how replications are run and become results. Does not: drawing, reports, real links.
"""
