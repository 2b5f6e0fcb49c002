"""Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management"."""
