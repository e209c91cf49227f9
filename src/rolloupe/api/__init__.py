"""The Python API: `rolloupe.open(path)` and the methods of the runs that it opens.

It answers no question itself: every method calls one function of `rolloupe.query`.
"""

from rolloupe.api.arguments import Where, at_most, sample_query, within
from rolloupe.api.comparison import ConfigComparison, GroupedCurve, compare, compare_curves, compare_rewards, sides_of
from rolloupe.api.results import RawRecord
from rolloupe.api.run import Run
from rolloupe.api.runs import AnyPath, Runs, open, runs_at  # noqa: A004 - users call it as rolloupe.open
