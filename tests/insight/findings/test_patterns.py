"""What a finding marks and lists is what it counts and says."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import re2

import rolloupe
from rolloupe.features import phrases_of, words_of
from rolloupe.insight.findings.phrase import pattern_of, pattern_of_phrase, phrases_in
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from tests.insight.findings.planted import HACKS, NAMES, Draft, Hack, Plan
from tests.insight.findings.support import HACK, SMALL, findings_of

PIECES = ("check", "Check", "checking", "re", "is", "it", "isit", "12", "7", ".", "...", ":", "-", "--", "</think>",
          "\\boxed", "{", "}", "_x", "你", "好", " ", " ", " ", "\n")  # fmt: skip


def hashes_of(text: str) -> set[int]:
    data = np.frombuffer(text.encode(), np.uint8)
    words = words_of(data, np.array([0, len(data)])).hashes
    return {one for _, some, _ in phrases_of(words, np.zeros(len(words), np.int64)) for one in some.tolist()}


def test_a_pattern_finds_the_texts_that_have_the_phrase_and_no_others() -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices(PIECES, k=rng.randrange(1, 12))) for _ in range(150)]
    have = [hashes_of(text) for text in texts]
    wrong = []
    for text, own in zip(texts[:40], have, strict=False):
        for one in sorted(own):
            mark = phrases_in(text, np.array([one], np.uint64))[one]
            found = re2.compile(f"(?i){pattern_of_phrase(mark)}")
            wrong += [
                (mark, other)
                for other, some in zip(texts, have, strict=True)
                if bool(found.search(other)) != (one in some)
            ]
    assert wrong == []


def test_words_around_a_phrase_are_marked_too_and_find_no_other_texts() -> None:
    rng = random.Random(5)
    texts = ["".join(rng.choices(PIECES, k=rng.randrange(4, 12))) for _ in range(80)]
    for text in texts:
        words = " ".join(phrases_in(text, np.array(sorted(hashes_of(text)), np.uint64)).values()).split()[:9]
        first = rng.randrange(len(words))
        counted = slice(first, min(len(words), first + rng.randint(1, 3)))
        both = pattern_of(words, counted), pattern_of_phrase(" ".join(words[counted]))
        wide, core = (re2.compile(f"(?i){one}") for one in both)
        assert [bool(wide.search(one)) for one in texts] == [bool(core.search(one)) for one in texts]
        whole = " ".join(words).replace("#", "7")
        assert len(wide.search(whole)[0]) >= len(core.search(whole)[0])


def test_what_a_finding_says_is_marked_in_its_samples(folder_of: Callable[[Plan], Path]) -> None:
    folder = folder_of(HACK)
    (one,) = findings_of(folder, HACK).findings
    run = rolloupe.open(folder / "run", index_dir=folder / "index").runs[0]
    assert one.phrase == "i have double - checked every step carefully"
    for id_ in (one.samples.earliest, one.samples.pairs[0][0]):
        places = run.spans(id_, one.pattern, regex=True, roles=["response"])
        parts = [run.sample(id_).turns[at.turn].parts[at.part].text[at.start : at.stop] for at in places]
        assert parts == ["I have double-checked every step carefully"]


def test_a_behaviour_lists_as_many_samples_as_its_sentence_counts(folder_of: Callable[[Plan], Path]) -> None:
    plan = SMALL._replace(hacks=("loop",))
    folder = folder_of(plan)
    one = findings_of(folder, plan).findings[0]
    run = rolloupe.open(folder / "run", index_dir=folder / "index").runs[0]
    counted = sum(one.prevalence.shares) / len(one.prevalence.shares) * run.total(SampleQuery())
    assert one.behaviour == "derived.repeated_sentences" and one.where == f"{one.behaviour} > 0"
    assert run.total(SampleQuery(where=conditions(one.where))) == round(counted) > 100


def test_of_phrases_that_are_nearly_the_same_the_most_readable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marked(draft: Draft, rng: random.Random) -> Draft:
        words = "All units agree" if rng.random() < 0.95 else rng.choice(NAMES)
        return draft._replace(text=f"{draft.text} ~~ {words}")

    monkeypatch.setitem(HACKS, "marked", Hack(marked, "all units agree"))
    (one,) = findings_of(tmp_path, SMALL._replace(hacks=("marked",))).findings
    assert "all units agree" in one.phrase
    assert re2.search(f"(?i){one.pattern}", "so all units agree") and not re2.search(one.pattern, "~~ Ada")


def test_a_search_for_a_finding_has_as_many_samples_as_the_finding_counts(folder_of: Callable[[Plan], Path]) -> None:
    folder = folder_of(HACK)
    (one,) = findings_of(folder, HACK).findings
    run = rolloupe.open(folder / "run", index_dir=folder / "index").runs[0]
    counted = sum(one.prevalence.shares) / len(one.prevalence.shares) * run.total(SampleQuery())
    hits = run.search(one.pattern, regex=True, roles=["response"])
    assert len({str(hit.sample.key) for hit in hits}) == round(counted) > 100
