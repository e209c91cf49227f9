"""How many sentences or lines of the response stood there before, word for word."""

from rolloupe.derive.base import DerivedMetric, of_rows
from rolloupe.derive.sentences import sentences_of
from rolloupe.model import SampleRow


def _of_row(row: SampleRow) -> float:
    sentences = sentences_of(row.response)
    return len(sentences) - len({*sentences})


METRIC = DerivedMetric(
    "repeated_sentences", 1, "Repeated sentences", unit="sentences", of_batch=of_rows(_of_row),
    behaviour="the same sentence repeated",
)  # fmt: skip
