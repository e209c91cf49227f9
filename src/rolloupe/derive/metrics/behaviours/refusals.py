"""How often the response refuses: I cannot help with that, I am unable to, as an AI."""

from rolloupe.derive.base import DerivedMetric
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"\bI(?:'m| am) (?:sorry|unable|not able)\b",
    r"\bI (?:can't|cannot|can not|won't|will not) (?:help|assist|answer|provide|comply|do|discuss|fulfil)",
    r"\bas an AI\b",
    r"\bI must (?:decline|refuse)\b",
)

METRIC = DerivedMetric(
    "refusals", 1, "Refusals", unit="phrases", of_batch=_MATCHER.of_batch,
    behaviour="refusing", pattern=_MATCHER.expression,
)  # fmt: skip
