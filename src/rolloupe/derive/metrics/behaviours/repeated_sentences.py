"""How many sentences or lines of the response repeat an earlier one, word for word."""

from rolloupe.derive.base import DerivedMetric

METRIC = DerivedMetric(
    "repeated_sentences", 2, "Repeated sentences", unit="sentences", behaviour="the same sentence repeated",
    of_batch=lambda batch: [len(sentences) - len({*sentences}) for sentences in batch.sentences],
)  # fmt: skip
