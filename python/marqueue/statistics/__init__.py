"""Estimates with confidence intervals (``estimates``) and the analysis of autocorrelated series
(``output_analysis``: MSER-5, batch means).

Nothing here knows about simulations: all functions take samples.
"""
