"""Steady state of a scenario: rates, queues and marks (docs/theory/steady.md)."""
