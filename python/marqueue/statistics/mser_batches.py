"""How much of a series MSER-5 needs (``output_analysis``). Scenarios are checked with it, without
numpy."""

MSER_BATCH = 5
"""Samples in a batch of MSER-5."""

MSER_BATCHES = 20
"""Batches that MSER-5 needs; with fewer it would compare noise."""
