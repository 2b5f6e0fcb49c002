"""Reports: self-contained HTML pages made of sections."""

from marqueue.reports.builder import Outcome, Report, Verdict
from marqueue.reports.run_report import report, save_with_report, write_report
from marqueue.reports.sweep_report import write_sweep_report

__all__ = [
    "Outcome",
    "Report",
    "Verdict",
    "report",
    "save_with_report",
    "write_report",
    "write_sweep_report",
]
