"""How many sentences or lines of the response repeat an earlier one, word for word."""

from rolloupe.derive.base import DerivedMetric, of_texts, sentences_of

METRIC = DerivedMetric(
    "repeated_sentences", 2, "Repeated sentences", unit="sentences", behaviour="the same sentence repeated",
    of_batch=of_texts(lambda text, _: len(sentences := sentences_of(text)) - len({*sentences})),
)  # fmt: skip
