"""Eun and Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small
Buffer"."""
