"""A report: samples with their tokens in one file of HTML, which opens from a disk and asks nobody for anything."""

from rolloupe.export.report.document import (
    Insight,
    Measured,
    Report,
    ReportedSample,
    ReportedTokens,
    WrittenReport,
    made_now,
    no_insight,
    report_pieces,
    scope_of,
    write_report,
)
from rolloupe.export.report.insight import ReportedInsight, insight_of
from rolloupe.export.report.measures import MEASURES, TITLES, measured_by, worst_of

__all__ = [
    "MEASURES",
    "TITLES",
    "Insight",
    "Measured",
    "Report",
    "ReportedInsight",
    "ReportedSample",
    "ReportedTokens",
    "WrittenReport",
    "insight_of",
    "made_now",
    "measured_by",
    "no_insight",
    "report_pieces",
    "scope_of",
    "worst_of",
    "write_report",
]
