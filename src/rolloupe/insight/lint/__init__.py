"""What is wrong with the samples of a run, or worth a look: rules over the columns of the index."""

from rolloupe.insight.curves import UncheckedRule
from rolloupe.insight.lint.rule import BrokenRule, RunLint
from rolloupe.insight.lint.search import LINT_RULES, lint
