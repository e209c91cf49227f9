"""The Python face: `rolloupe.open(path)` and what can be asked of the runs it finds.

Owns no question of its own: every method is one function of `rolloupe.query`. An answer is complete, because a run is
waited for until its numbers are indexed, unless it was opened with `wait=False`.
"""

from rolloupe.api.arguments import Where, at_most, sample_query, within
from rolloupe.api.open_runs import AnyPath, open, runs_at  # noqa: A004 - it is called as rolloupe.open
from rolloupe.api.runs import Questions, Run, Runs
from rolloupe.api.sample import RawRecord

__all__ = [
    "AnyPath",
    "Questions",
    "RawRecord",
    "Run",
    "Runs",
    "Where",
    "at_most",
    "open",
    "runs_at",
    "sample_query",
    "within",
]
