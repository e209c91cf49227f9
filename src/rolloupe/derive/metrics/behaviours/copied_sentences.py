"""How many sentences or lines of the response the prompt has too, word for word; short ones do not count."""

from rolloupe.derive.base import DerivedMetric, of_texts, sentences_of
from rolloupe.model import SampleRow

LONG = 20  # the least length of a copied sentence in characters


def _of_text(text: str, row: SampleRow) -> float:
    known = {sentence for sentence in sentences_of(row.prompt) if len(sentence) >= LONG}
    return sum(sentence in known for sentence in sentences_of(text)) if known else 0.0


METRIC = DerivedMetric(
    "copied_sentences", 2, "Sentences of the prompt", unit="sentences", of_batch=of_texts(_of_text),
    behaviour="copying sentences of the prompt",
)  # fmt: skip
