"""Linearized models: characteristic roots, equilibria, stability margins
(docs/theory/linear.md).
"""
