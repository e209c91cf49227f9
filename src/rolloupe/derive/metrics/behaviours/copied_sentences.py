"""How many sentences or lines of the response the prompt has too, word for word; short ones do not count."""

import numpy as np
import pyarrow as pa

from rolloupe.derive.base import DerivedMetric, SampleBatch
from rolloupe.derive.text_array import TextArray, sentences_of
from rolloupe.tokens import Floats

LONG = 20  # the least length of a copied sentence in characters


def _of_batch(batch: SampleBatch) -> Floats:
    import pyarrow.compute as pc  # loads slowly

    rows, prompt_of = batch.prompts
    asked, written = sentences_of(TextArray([row.prompt for row in rows])), batch.sentences
    is_long = np.flatnonzero(asked.chars >= LONG)
    known = asked.strings.take(pa.array(is_long))
    places, known_places = (
        pc.index_in(strings, known).fill_null(-1).to_numpy() for strings in (written.strings, known)
    )
    found = np.flatnonzero(places >= 0)
    texts = written.texts[found]
    pairs = prompt_of[texts] * (len(known) + 1) + places[found]
    is_of_prompt = np.isin(pairs, asked.texts[is_long] * (len(known) + 1) + known_places)
    return np.bincount(texts[is_of_prompt], minlength=len(batch)).astype(np.float64)


METRIC = DerivedMetric(
    "copied_sentences", 3, "Sentences of the prompt", unit="sentences", of_batch=_of_batch,
    behaviour="copying sentences of the prompt",
)  # fmt: skip
