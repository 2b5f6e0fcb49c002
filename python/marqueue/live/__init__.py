"""Scenarios with real TCP: network namespaces and, between them, the network of a plan."""

# from marqueue.live.run import Live, run_live

# __all__ = ["Live", "run_live"]
