"""Zhang, Kang and Loguinov, "Delayed Stability and Performance of Distributed Congestion
Control"."""
