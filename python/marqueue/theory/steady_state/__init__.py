"""Where the flows of a scenario settle: rates, queues, marks (docs/theory/steady.md)."""
