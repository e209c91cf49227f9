"""What is wrong with the samples of a run, or worth a look: rules over the columns of the index."""

from rolloupe.insight.lint.records import BrokenRule, RunLint
from rolloupe.insight.lint.search import LINT_RULES, lint
from rolloupe.insight.too_little import UncheckedRule

__all__ = ["LINT_RULES", "BrokenRule", "RunLint", "UncheckedRule", "lint"]
