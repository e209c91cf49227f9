"""What each part of the reward pays for."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe.demo import RUNS
from rolloupe.errors import NotFound
from rolloupe.insight.reward_components import RewardPart, RunParts
from tests.index.support import row
from tests.insight.test_gradient import run_of

WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they".split()
)


def text_of(rng: random.Random) -> str:
    """Words by chance, some of which parts may pay for."""
    words = rng.choices(WORDS, k=40)
    words += ["check 7"] * rng.randrange(9) + ["<answer> 12 </answer>"] * (rng.random() < 0.5)
    rng.shuffle(words)
    return " ".join(words)


def planted(folder: Path, parts: Callable[[str, random.Random], dict[str, float]], groups: int = 100) -> rolloupe.Run:
    """A run of ten steps whose rewards are the sums of these parts of its texts, and harder for some prompts."""
    rng = random.Random(7)
    steps: list[list[dict[str, Any]]] = []
    for _ in range(10):
        rows: list[dict[str, Any]] = []
        for _ in range(groups // 10):
            difficulty = rng.random()
            for _ in range(4):
                text = text_of(rng)
                own = {name: value + difficulty for name, value in parts(text, rng).items()}
                rows.append(row(0, len(rows), response=text, reward={"score": sum(own.values()), **own}))
        steps.append(rows)
    return run_of(folder, steps)


def by_name(found: Sequence[RewardPart]) -> dict[str, RewardPart]:
    return {one.name.removeprefix("reward."): one for one in found}


@pytest.mark.slow
def test_the_parts_of_the_demo_run_are_named(demo_index: Path) -> None:
    run = rolloupe.open(RUNS / "tiny_grpo", index_dir=demo_index).runs[0]
    found = run.parts()
    assert found.whole == "reward = correct + format + checking" and found.whole in found.note
    assert [one.name for one in found.parts] == ["checking", "format", "correct"]  # false_sums has no part in it
    checking, tags, correct = found.parts
    assert checking.text == "checking = 0.06·min(uses of “check”, 6); R² 1.00" and (checking.r2 or 0) > 0.995
    assert tags.text.startswith("format = 0.25·(has “</think> <answer> # </answer>”); R² 0.9")
    assert (correct.r2 or 0) < 0.2  # what is right has no wording
    assert tags.terms[0].phrase in tags.terms[0].words and "[0-9]+" in tags.terms[0].pattern
    assert len(run.parts(steps=(0, 9), env="3_events").parts) == 3
    with pytest.raises(NotFound):
        run.parts(split="none")


def test_a_formula_has_the_form_and_the_weight_of_what_was_planted(tmp_path: Path) -> None:
    def parts(text: str, rng: random.Random) -> dict[str, float]:
        return {
            "form": 0.4 * ("<answer>" in text),
            "checks": 0.1 * min(text.count("check"), 5) - 0.3 * ("<answer>" in text),
            "noise": rng.random(),
            "fixed": 0.0,
        }

    found = by_name(planted(tmp_path, parts, groups=400).parts().parts)
    form, checks, noise = found["form"], found["checks"], found["noise"]
    assert form.r2 == pytest.approx(1) and form.terms[0].weight == pytest.approx(0.4, abs=1e-6)
    assert (form.terms[0].words, form.terms[0].where) == ("has final answers", "derived.answers > 0")
    assert len(checks.terms) == 2
    assert any(one.words == "min(uses of “check”, 5)" and abs(one.weight - 0.1) < 1e-6 for one in checks.terms)
    assert any(abs(one.weight + 0.3) < 1e-6 and one.words == "has final answers" for one in checks.terms)
    assert not noise.terms and "no phrase and no behaviour explains it" in noise.text and (noise.r2 or 0) < 0.05
    assert found["fixed"].text.endswith("differs between groups, but never among siblings")


def test_chance_explains_nothing_in_a_small_run(tmp_path: Path) -> None:
    found = planted(tmp_path, lambda _, rng: {"a": rng.random(), "b": float(rng.random() < 0.3)}).parts()
    assert [one.terms for one in found.parts] == [[], []] and {(one.r2 or 0) < 0.05 for one in found.parts} == {True}


def test_one_part_or_none_is_said_in_words(tmp_path: Path) -> None:
    texts = [text_of(random.Random(number)) for number in range(400)]
    rows = [row(0, n, response=text, reward=float("answer" in text)) for n, text in enumerate(texts)]
    found = run_of(tmp_path / "none", [rows]).parts()
    assert found.note.startswith("The run records the reward as one number without parts")
    assert [one.name for one in found.parts] == ["reward"] and (found.parts[0].r2 or 0) > 0.99
    rows = [row(0, n, response=t, reward={"score": float(n % 2), "acc": float(n % 2)}) for n, t in enumerate(texts)]
    found = run_of(tmp_path / "one", [[{**one, "reward": {"acc": one["reward"]["acc"]}} for one in rows]]).parts()
    assert "one part only" in found.note and len(found.parts) == 1
    rows = [row(0, 0, response="a", reward=1.0)]
    run = run_of(tmp_path / "few", [rows])
    assert run.parts(env="\udcff").note == "No sample with a reward is indexed.", (
        "bytes of a terminal that are not text"
    )
    few = run.parts()
    assert few.parts[0].text == "reward: each sample is alone in its group, without siblings"


def test_rewards_that_never_differ_among_siblings_pay_for_nothing(tmp_path: Path) -> None:
    rng = random.Random(3)
    texts = [text_of(rng) for _ in range(400)]
    tags = [float("<answer>" in text) for text in texts]

    def found(name: str, parts: Callable[[float], dict[str, float]]) -> RunParts:
        rows = [
            row(0, n, response=text, reward={"score": 1.0, **parts(has)})
            for n, (text, has) in enumerate(zip(texts, tags, strict=True))
        ]
        return run_of(tmp_path / name, [rows]).parts()

    flat = found("flat", lambda _: {"form": 0.5})
    assert flat.note == (
        "The reward has one part, reward.form. reward.score is the reward as a whole. "
        "Siblings always have the same reward: it pays for nothing."
    )
    traded = found("traded", lambda has: {"form": has, "brief": 1 - has})
    assert "The reward has 2 parts. reward.score is the reward as a whole." in traded.note
    assert "what its parts pay for cancels out, or does not count" in traded.note
    formulas = by_name(traded.parts)
    assert formulas["form"].text == "reward.form = 1·(has final answers); R² 1.00"
    assert formulas["score"].text == "reward.score is always 1" and formulas["score"].r2 is None
    assert found("alone", lambda _: {}).note.startswith("The reward has one part only, reward.score. Siblings always")


def test_values_too_large_to_add_up_are_none(tmp_path: Path) -> None:
    def parts(text: str, rng: random.Random) -> dict[str, float]:
        return {"a": float("answer" in text), "b": rng.choice([0.0, 1.0, 1e300])}

    found = by_name(planted(tmp_path, parts).parts().parts)
    assert 0 < found["b"].spread < 1 and 20 < found["b"].groups < 80


def test_a_part_that_only_some_siblings_have_is_not_said_to_be_equal_among_them(tmp_path: Path) -> None:
    rewards = [{"score": n % 2, "h": n % 4, **({} if n % 3 else {"g": n})} for n in range(40)]
    rows = [row(0, n, response="a", reward=one) for n, one in enumerate(rewards)]
    found = by_name(run_of(tmp_path, [rows]).parts().parts)
    only = "g is recorded for only some siblings of 10 groups, and differs in no other: too few for a formula"
    assert found["g"].text.endswith(only)
    assert found["h"].text.endswith("h differs among the siblings of 10 groups only, too few for a formula")


def test_a_part_that_some_groups_lack_is_fitted_to_the_others(tmp_path: Path) -> None:
    rng = random.Random(3)
    texts = [text_of(rng) for _ in range(480)]
    rows = [row(0, n, response=text, reward={"score": rng.random()}) for n, text in enumerate(texts)]
    own: list[float] = []
    for one in rows:
        if one["group_index"] % 4 < 2:
            one["reward"]["form"] = 0.4 * ("<answer>" in one["response"])
            own.append(one["reward"]["form"])
    form = by_name(run_of(tmp_path, [rows]).parts().parts)["form"]
    assert form.text == "reward.form = 0.4·(has final answers); R² 1.00"
    gaps = np.reshape(own, (60, 4))
    assert form.spread == pytest.approx(np.sqrt(gaps.var(axis=1, ddof=1).mean()))


def test_what_recorded_parts_leave_of_the_reward_has_a_formula(tmp_path: Path) -> None:
    rng = random.Random(3)
    texts = [text_of(rng) for _ in range(400)]
    rows = [row(0, n, response=t, reward={"acc": float(rng.random() < 0.5)}) for n, t in enumerate(texts)]
    for one in rows:
        one["reward"]["score"] = one["reward"]["acc"] + 0.2 * ("<answer>" in one["response"])
    found = run_of(tmp_path, [rows]).parts()
    assert "The reward has one part, reward.acc. No metric records the rest of the reward." in found.note
    rest = by_name(found.parts)["the rest of the reward"]
    assert (rest.r2 or 0) > 0.99
    assert rest.text.startswith("the rest of the reward = 0.2·(has final answers)")
