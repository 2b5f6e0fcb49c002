"""Fair allocations of links and CPUs: max-min, proportional fairness, the regions of a single
bottleneck.
"""
