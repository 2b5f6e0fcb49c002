"""Networks in files: nodes, links and traffic matrices that a scenario names."""

from marqueue.scenario.network_file.expansion import names_files, with_network_file

__all__ = ["names_files", "with_network_file"]
