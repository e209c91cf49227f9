"""A report: samples with their tokens in one file of HTML, which opens from a disk and asks nobody for anything."""

from rolloupe.export.report.document import (
    Report,
    ReportedSample,
    ReportedTokens,
    WrittenReport,
    made_now,
    report_pieces,
    write_report,
)
from rolloupe.export.report.measures import MEASURES, worst_of

__all__ = [
    "MEASURES",
    "Report",
    "ReportedSample",
    "ReportedTokens",
    "WrittenReport",
    "made_now",
    "report_pieces",
    "worst_of",
    "write_report",
]
