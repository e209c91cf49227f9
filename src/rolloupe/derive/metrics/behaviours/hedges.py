"""How often the response hedges: perhaps, it seems, I am not sure."""

from rolloupe.derive.base import phrase_metric

METRIC = phrase_metric(
    "hedges", 2, "Hedges",
    r"\b(?:perhaps|maybe|possibly|presumably|arguably)\b",
    r"\bit (?:seems|appears|might be|may be|could be)\b",
    r"\bI(?:'m| am) not (?:entirely |completely |quite )?(?:sure|certain)\b",
    r"\bI (?:think|believe|guess|suppose)\b",
    unit="phrases", behaviour="hedging",
)  # fmt: skip
