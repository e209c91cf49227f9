"""1 if the response is in another language than the question, 0 if in the same; of texts in seven languages.

A language is known by its most frequent words: the end of a text must have at least three of them, and at most half as
many of any other language. Texts in other languages, formulas and single words have none.
"""

from functools import lru_cache

from rolloupe.derive.base import DerivedMetric, Value, of_texts
from rolloupe.model import SampleRow

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


@lru_cache(maxsize=64)  # siblings have the same question
def _language(text: str) -> int | None:
    """Return the place of a language in `_FREQUENT`; None if it is unclear."""
    words = {*text.lower().replace(",", " ").replace(".", " ").split()}
    counts = [len(words & frequent) for frequent in _FREQUENT]
    *_, second, most = sorted(counts)
    return counts.index(most) if most >= max(LEAST, 2 * second) else None


def _of_text(text: str, row: SampleRow) -> Value:
    question = _language(row.prompt[row.question :][-LAST_CHARS:])
    response = None if question is None else _language(text[-LAST_CHARS:])
    return None if response is None else float(response != question)


METRIC = DerivedMetric("other_language", 3, "Another language than the question", of_batch=of_texts(_of_text))
