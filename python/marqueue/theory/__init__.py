"""Theory: models of what the simulator simulates, each a module named after what it models."""
