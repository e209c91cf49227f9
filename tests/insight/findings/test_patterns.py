"""The expression of a phrase finds the samples that the phrase counts, and no others."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import re2

import rolloupe
from rolloupe.features import phrases_of, words_of
from rolloupe.insight.findings.phrase import pattern_of, wording_of
from rolloupe.query import SampleQuery
from tests.insight.findings.planted import Plan
from tests.insight.findings.support import HACK, findings_of

PIECES = ("check", "Check", "checking", "re", "is", "it", "isit", "12", "7", ".", "...", ":", "-", "--", "</think>",
          "\\boxed", "{", "}", "_x", "你", "好", " ", " ", " ", "\n")  # fmt: skip


def hashes_of(text: str) -> set[int]:
    data = np.frombuffer(text.encode(), np.uint8)
    words = words_of(data, np.array([0, len(data)])).hashes
    return {one for _, some, _ in phrases_of(words, np.zeros(len(words), np.int64)) for one in some.tolist()}


def test_a_pattern_finds_the_texts_that_have_the_phrase_and_no_others() -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices(PIECES, k=rng.randrange(1, 12))) for _ in range(300)]
    have = [hashes_of(text) for text in texts]
    wrong = []
    for text, own in zip(texts[:60], have, strict=False):
        for one in sorted(own):
            (mark, *_) = wording_of(text, np.array([one], np.uint64)).marks
            found = re2.compile(f"(?i){pattern_of([mark])}")
            wrong += [
                (mark, other)
                for other, some in zip(texts, have, strict=True)
                if bool(found.search(other)) != (one in some)
            ]
    assert wrong == []


def test_a_search_for_a_finding_has_as_many_samples_as_the_finding_counts(folder_of: Callable[[Plan], Path]) -> None:
    folder = folder_of(HACK)
    (one,) = findings_of(folder, HACK).findings
    run = rolloupe.open(folder / "run", index_dir=folder / "index").runs[0]
    counted = sum(one.prevalence.shares) / len(one.prevalence.shares) * run.total(SampleQuery())
    hits = run.search(one.pattern, regex=True, roles=["response"])
    assert len({str(hit.sample.key) for hit in hits}) == round(counted) > 100
