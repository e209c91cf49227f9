"""The Python API: `rolloupe.open(path)` and the methods of the runs that it opens.

It answers no question itself: every method calls one function of `rolloupe.query`.
"""

from rolloupe.api.arguments import Where, at_most, sample_query, within
from rolloupe.api.comparison import ConfigComparison, compare
from rolloupe.api.open_runs import AnyPath, open, runs_at  # noqa: A004 - users call it as rolloupe.open
from rolloupe.api.results import RawRecord
from rolloupe.api.run import Run
from rolloupe.api.runs import Runs

__all__ = [
    "AnyPath",
    "ConfigComparison",
    "RawRecord",
    "Run",
    "Runs",
    "Where",
    "at_most",
    "compare",
    "open",
    "runs_at",
    "sample_query",
    "within",
]
