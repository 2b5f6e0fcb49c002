"""Reports: one self-contained page each, built from sections."""

from marqueue.report.builder import Outcome, Report, Verdict
from marqueue.report.of_result import report, write_report

__all__ = ["Outcome", "Report", "Verdict", "report", "write_report"]
