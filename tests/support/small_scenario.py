"""A small scenario that runs in a fraction of a second, for tests that need any scenario."""

SMALL = """\
name = "Small"
duration = "4 s"
warmup = "1 s"
replications = 3

[topology]
kind = "dumbbell"
rtts = ["40 ms", "80 ms"]
access = { rate = "1 Gbit/s", delay = "5 ms" }

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "50 packets"
aqm = { name = "red", min_th = "10 packets", max_th = "30 packets" }

[transport.default]
preset = "ns2"
ecn = true

[[traffic]]
name = "long"
kind = "tcp"
count = 5

[[traffic]]
name = "short"
kind = "poisson"
rate = "5 /s"
size = "10 packets"
"""
