"""Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks"."""
