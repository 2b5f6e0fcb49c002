"""Estimates with confidence intervals (``estimates``) and the analysis of autocorrelated series
(``output_analysis``: MSER-5, batch means).

Belongs here: what is computed from samples alone. Does not: anything that knows of simulations.
"""
