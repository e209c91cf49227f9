"""Runs that are not among the examples, written as their frameworks write them."""

from tests.formats.other_runs import databases, evaluations, frameworks, trackers, trainers
from tests.formats.other_runs.writing import CASES

__all__ = ["CASES", "databases", "evaluations", "frameworks", "trackers", "trainers"]
