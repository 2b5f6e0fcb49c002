"""Linux's own AQMs beside ours: the same two flows through both."""
