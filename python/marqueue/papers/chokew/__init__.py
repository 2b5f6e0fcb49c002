"""Wen, Fang and Sun, "Differentiated Bandwidth Allocation with TCP Protection in Core Routers"."""
