"""Networks in files: nodes, links and traffic matrices that a scenario names."""

from marqueue.scenario.network_file.named import names_files

__all__ = ["names_files"]
