"""Scenarios with real TCP: network namespaces and, between them, the network of a plan."""

from marqueue.live.run import run_live

__all__ = ["run_live"]
