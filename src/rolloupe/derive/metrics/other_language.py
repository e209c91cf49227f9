"""1 if the response is in another language than the question, 0 if in the same; of texts in seven languages.

A language is known by its most frequent words: the end of a text must have at least three of them, and at most half as
many of any other language. Texts in other languages, formulas and single words have none.
"""

import re
from collections.abc import Sequence

import numpy as np

from rolloupe.derive.base import DerivedMetric, SampleBatch
from rolloupe.derive.text_array import BLANK, PAD, Places, TextArray, word_starts, words_at
from rolloupe.tokens import Floats

_FREQUENT = [
    frozenset(words.split())
    for words in (
        "the and of to that it you with for are this have was not be is in we can your from will if on as at by they",
        "der die das und ist nicht mit ein eine ich sie wir ihre ihnen für auf zu den dem von bitte bei im auch noch",
        "le les des est et une dans pour vous nous pas sur avec au du la de je ne que qui votre mon ce il sont par",
        "el los las es y del para por su con una lo se que en un no mi de la como pero más está al le si sus",
        "os as uma para com não em do da um ao você é e que por mais meu está seu de na no se foi eu",
        "il gli di che per una con non sono della è lo le un mi la ho del si e anche questo nel",
        "het een van dat niet met voor op zijn de ik wij aan is in en te er uw om dit wat bij kan hebben",
    )
]  # fmt: skip
"""Of English, German, French, Spanish, Portuguese, Italian and Dutch."""
FREQUENT = frozenset().union(*_FREQUENT)
LEAST, LAST_CHARS = 3, 800
UNCLEAR = -1


def _number_of(word: str) -> int:
    """Return a word as `words_at` does: these are shorter than eight bytes."""
    return int.from_bytes(word.encode(), "little")


_IN_ORDER = sorted(FREQUENT, key=_number_of)
_WORDS = np.array([*map(_number_of, _IN_ORDER)], np.uint64)
_LANGUAGES = np.array([[word in frequent for frequent in _FREQUENT] for word in _IN_ORDER], np.int64)
"""Whether each word belongs to each language."""


def _of_batch(batch: SampleBatch) -> Floats:
    rows, prompt_of = batch.prompts
    questions = _languages([row.prompt[max(row.question, len(row.prompt) - LAST_CHARS) :] for row in rows])[prompt_of]
    responses = _languages([text[-LAST_CHARS:] for text in batch.written])
    is_clear = (questions != UNCLEAR) & (responses != UNCLEAR)
    return np.where(is_clear, responses != questions, np.nan)


_BLANKS = re.compile(r"[^\S\x00-\x20]")


def _languages(texts: Sequence[str]) -> Places:
    """Return the place of the language of each text in `_FREQUENT`; `UNCLEAR` if it is unclear."""
    joined = TextArray([text if text.isascii() else _BLANKS.sub(" ", text) for text in map(str.lower, texts)])
    data = joined.data.copy()
    data[(data == ord(",")) | (data == ord("."))] = BLANK
    starts = word_starts(padded := data.tobytes() + PAD)
    words = words_at(padded, starts)
    places = np.minimum(np.searchsorted(_WORDS, words), len(_WORDS) - 1)
    known = np.flatnonzero(_WORDS[places] == words)
    has_word = np.zeros((len(texts), len(_WORDS)), np.int64)
    has_word[joined.texts_at(starts)[known], places[known]] = 1
    counts = has_word @ _LANGUAGES
    *_, second, most = np.sort(counts).T
    languages: Places = np.where(most >= np.maximum(LEAST, 2 * second), counts.argmax(axis=1), UNCLEAR)
    return languages


METRIC = DerivedMetric("other_language", 4, "Another language than the question", of_batch=_of_batch)
