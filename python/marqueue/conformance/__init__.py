"""TCP held against test suites that others wrote."""
