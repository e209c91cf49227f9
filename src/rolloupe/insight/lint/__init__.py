"""What is wrong with the samples of a run, or worth a look: rules over the columns of the index."""

from rolloupe.insight.lint.records import BrokenRule, LintQuery, RunLint, UncheckedRule
from rolloupe.insight.lint.search import LINT_RULES, lint

__all__ = ["LINT_RULES", "BrokenRule", "LintQuery", "RunLint", "UncheckedRule", "lint"]
