"""How many sentences or lines of the response repeat an earlier one, word for word."""

from rolloupe.derive.base import DerivedMetric, of_rows, sentences_of

METRIC = DerivedMetric(
    "repeated_sentences", 1, "Repeated sentences", unit="sentences", behaviour="the same sentence repeated",
    of_batch=of_rows(lambda row: len(sentences := sentences_of(row.response)) - len({*sentences})),
)  # fmt: skip
