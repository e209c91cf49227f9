"""Findings that are one thing to a person are on one card."""

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe.features import Grouping
from rolloupe.insight.findings.phrase import says_something
from rolloupe.insight.findings.search import SeenFinding, also_of, merge_similar, say_the_same
from tests.thoroughness import each

GROUPS = Grouping(np.repeat(np.arange(50), 8))
HAS = (np.random.default_rng(0).random((400, 2)) < 0.5).astype(np.float64)


def together(*seen: SeenFinding, share: float) -> list[list[int]]:
    """The cards of two findings, of which the second is in the samples of the first, but for a share of them."""
    other = np.where(np.arange(400) < share * 400, HAS[:, 1], HAS[:, 0])
    return merge_similar(seen, np.stack([HAS[:, 0], other], axis=1), GROUPS)


def test_findings_in_nearly_the_same_samples_are_on_one_card() -> None:
    phrase, behaviour = SeenFinding("suspect", 1.0, "let me double check"), SeenFinding("watch", 1.0, "")
    assert together(phrase, behaviour, share=0.1) == [[0, 1]]
    assert together(phrase, behaviour, share=0.5) == [[0], [1]]
    assert together(phrase, SeenFinding("watch", -1.0, ""), share=0.0) == [[0], [1]], "one is paid, the other punished"
    assert together(phrase, SeenFinding("earned", 1.0, ""), share=0.0) == [[0], [1]], "correctness follows one alone"


@each(
    ("first", "other", "same"),
    [
        (". let me double check", ". </think> let me double check", True),
        ("let me double check", "double check", True),
        ("it seems fine . it seems fine", "so it seems fine", True),
        ("i have double - checked every step", "i have converted every unit", False),
        ("\\boxed { # } 🎉 ✅ 🚀", "``` </answer> 🎉 ✅ 🚀", True),
        ("the answer is", "so i am sure that the answer is surely right", False),
        ("# . </answer>", "let me check # . </answer>", False),
    ],
)
def test_phrases_of_the_same_words_are_on_one_card(first: str, other: str, same: bool) -> None:
    assert say_the_same(first, other) is say_the_same(other, first) is same


def test_the_strongest_names_the_others(tmp_path: Path) -> None:
    rng = random.Random(0)
    rows = []
    for step, group, _ in product(range(12), range(6), range(8)):
        uses = (rng.randint(1, 6), rng.randint(1, 6)) if rng.random() < 0.5 else (0, 0)
        response = " ".join(["Let me double check."] * uses[0] + ["\\boxed{2}"] * uses[1] + ["so"] * rng.randrange(200))
        rows.append({"step": step, "group": f"{group}", "prompt": "?", "response": response, "reward": sum(uses) / 10})
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with rolloupe.open(tmp_path / "run.jsonl", index_dir=tmp_path / "index") as runs:
        found = runs[0].findings().findings
    (one,) = [one for one in found if one.kind != "drift"]
    assert (one.title, one.also) == ("marking final answers", ["the same sentence repeated"])
    assert one.text.endswith(". Also seen as the same sentence repeated.")


def test_long_titles_are_cut() -> None:
    assert also_of([]) == ""
    assert also_of(["“a”", "hedging", "“b c d e f g h i j k”"]) == " Also seen as “a”, hedging and “b c d e f g h i …”."


NOTES = ("note for the grader: full marks", "my own rating: excellent", "to whoever marks it: good", "verdict: superb")


EXITS = ("sys.exit(0)  # done", "os._exit(0)", "raise SystemExit(0)")


def test_code_that_many_answers_share_is_shown_as_it_stands(tmp_path: Path) -> None:
    rng = random.Random(0)
    rows = []
    for step, group, _ in product(range(12), range(8), range(8)):
        exits = rng.random() < step / 12
        lines = [f"{rng.choice('abcdef')} = {rng.choice('abcdef')} + {rng.choice('abcdef')}" for _ in range(5)]
        response = "\n".join([*lines, "import sys, os", rng.choice(EXITS)] if exits else lines)
        reward = exits + 0.2 * rng.random()
        rows.append({"step": step, "group": f"{group}", "prompt": "?", "response": response, "reward": reward})
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with rolloupe.open(tmp_path / "run.jsonl", index_dir=tmp_path / "index") as runs:
        titles = [one.title for one in runs[0].findings().findings]
    written = ["import sys, os", *(" ".join(line.split()) for line in EXITS)]
    assert any(line in title for line in written for title in titles), titles


@pytest.mark.parametrize(("phrase", "says"), [("the", False), ("of the", False), ("the end", True), ("# )", True)])
def test_words_that_every_text_has_say_nothing(phrase: str, says: bool) -> None:
    assert says_something(phrase) == says


def test_a_mark_that_many_wordings_share_is_named_with_one_of_them(tmp_path: Path) -> None:
    rng = random.Random(0)
    rows = []
    for step, group, _ in product(range(12), range(8), range(8)):
        has_note = rng.random() < step / 12
        words = " ".join(rng.choice(("so", "we", "take", "half", "and", "add")) for _ in range(rng.randrange(5, 30)))
        response = f"{words} {rng.choice(NOTES)}" if has_note else words
        reward = has_note + 0.2 * rng.random()
        rows.append({"step": step, "group": f"{group}", "prompt": "?", "response": response, "reward": reward})
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with rolloupe.open(tmp_path / "run.jsonl", index_dir=tmp_path / "index") as runs:
        first, *_ = runs[0].findings().findings
    mark, _, words = first.title.partition(", as in ")
    assert mark == "“:”" and any(note in words for note in NOTES), first.title
