"""The share of the letters of the response that belong to words of four capitals or more; constants do not count."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, Matcher, SampleBatch
from rolloupe.tokens import Floats

_MATCHER = Matcher(
    r"(?-i:\b[A-Z]{4,}\b)",
    r"(?-i:[^\P{Lu}A-Z]{4,})",  # of other alphabets, where \b says nothing
)
_ASCII = bytes(range(128))
_NO_LETTERS = bytes(code for code in range(256) if not (code < 128 and chr(code).isalpha()))


def letters_in(text: str) -> int:
    """Return the number of letters in a text, of any alphabet."""
    encoded = text.encode("utf-8", "replace")
    others = "" if text.isascii() else encoded.translate(None, _ASCII).decode()
    return len(encoded.translate(None, _NO_LETTERS)) + sum(map(str.isalpha, others))


def _of_batch(batch: SampleBatch) -> Floats:
    texts = batch.written
    shares = _MATCHER.of_batch(batch, lambda matches: sum(map(len, matches)))
    for number in np.flatnonzero(shares).tolist():
        shares[number] /= letters_in(texts[number])
    return shares


METRIC = DerivedMetric(
    "capitals", 2, "Capitals", of_batch=_of_batch,
    behaviour="shouting in capitals", pattern=_MATCHER.expression,
)  # fmt: skip
