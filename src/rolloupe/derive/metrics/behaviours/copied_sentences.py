"""How many sentences or lines of the response the prompt has too, word for word; short ones do not count."""

from rolloupe.derive.base import DerivedMetric, SampleBatch, sentences_of

LONG = 20  # the least length of a copied sentence in characters


def _of_batch(batch: SampleBatch) -> list[float]:
    counts, prompt, known = [], "", set[str]()
    for row, sentences in zip(batch.rows, batch.sentences, strict=True):
        if row.prompt != prompt:  # siblings share one
            prompt = row.prompt
            known = {sentence for sentence in sentences_of(prompt) if len(sentence) >= LONG}
        counts.append(float(sum(map(known.__contains__, sentences)) if known else 0.0))
    return counts


METRIC = DerivedMetric(
    "copied_sentences", 2, "Sentences of the prompt", unit="sentences", of_batch=_of_batch,
    behaviour="copying sentences of the prompt",
)  # fmt: skip
