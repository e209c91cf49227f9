"""How often the response hedges: perhaps, it seems, I am not sure."""

from rolloupe.derive.base import DerivedMetric
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"\b(?:perhaps|maybe|possibly|presumably|arguably)\b",
    r"\bit (?:seems|appears|might be|may be|could be)\b",
    r"\bI(?:'m| am) not (?:entirely |completely |quite )?(?:sure|certain)\b",
    r"\bI (?:think|believe|guess|suppose)\b",
)

METRIC = DerivedMetric(
    "hedges", 1, "Hedges", unit="phrases", of_batch=_MATCHER.of_batch,
    behaviour="hedging", pattern=_MATCHER.expression,
)  # fmt: skip
