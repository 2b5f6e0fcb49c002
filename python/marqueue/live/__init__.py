"""Real packets: a command behind a link, scenarios with real TCP between network namespaces."""
