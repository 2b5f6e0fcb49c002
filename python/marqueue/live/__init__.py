"""Live runs with real packets: a command behind an emulated link, and scenarios with real TCP."""
