"""Throughput laws of TCP, and the distribution of its windows."""
