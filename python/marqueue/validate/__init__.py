"""What is known to be right, and how it is checked."""
