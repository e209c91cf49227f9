"""Evaluations and the grid of prompts: every number against one that is counted by hand, one sample after another."""

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rolloupe
from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query.evals.scores import Answer, EvalStep, ks_of, pass_all, pass_at
from rolloupe.query.filter.parser import conditions
from rolloupe.questions import AnswerQuery, GridQuery
from rolloupe.record import Recorder
from tests.formats.test_telescope import RUN
from tests.index.support import opened, row
from tests.thoroughness import amount

SPLIT = "eval/d"
Drawn = list[tuple[int, int, float | None]]
"""Step, prompt, reward."""


@given(st.integers(0, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.integers(1, 8))
def test_the_estimators_are_means_over_all_ways_to_draw(counts: tuple[int, int], k: int) -> None:
    n, c = counts
    drawn = list(combinations([True] * c + [False] * (n - c), k))
    at, every = pass_at(n, c, k), pass_all(n, c, k)
    if not drawn:
        assert at is None and every is None
        return
    assert at == pytest.approx(sum(map(any, drawn)) / len(drawn)) and every == pytest.approx(
        sum(map(all, drawn)) / len(drawn)
    )


def test_the_values_of_k() -> None:
    assert [ks_of(n) for n in (0, 1, 2, 6, 8)] == [(), (1,), (1, 2), (1, 2, 4, 6), (1, 2, 4, 8)]


def write(folder: Path, drawn: Drawn, part: str = "eval") -> Path:
    """A run of these samples; groups have other names at each step, as trainers number them anew."""
    by_step: dict[int, list[dict[str, Any]]] = {}
    for number, (step, prompt, reward) in enumerate(drawn):
        own = {"prompt": f"Problem {prompt}", "reward": reward, "group_index": step * 100 + prompt, "dataset": "d"}
        by_step.setdefault(step, []).append(row(step, number, **own))
    for step, rows in by_step.items():
        path = folder / "rollout_result" / part / f"{step}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    return folder


REWARDS = [0.0, 1.0, 1.0, 2.5, -1.0, math.nan, math.inf, None]

drawn = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from(REWARDS)),
    min_size=1, max_size=60,
)  # fmt: skip


def finite(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def by_hand(found: Drawn, step: int, prompt: int) -> list[float]:
    return finite([reward for s, p, reward in found if (s, p) == (step, prompt)])


def verdict(shares: list[float]) -> str:
    """What became of a prompt, told from the share of right answers at each step where it has any."""
    if all(share == 0 for share in shares):
        return "never"
    good = [share > 0.5 for share in shares]
    if all(good):
        return "always"
    if good[-1]:
        return "solved"
    return "lost" if any(good) else "mixed"


@settings(max_examples=amount(5, 20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn, st.sampled_from([1.0, 2.0, 0.0]))
def test_every_number_is_what_counting_gives(tmp_path_factory: Any, found: Drawn, bar: float) -> None:
    folder = tmp_path_factory.mktemp("evals")
    with opened(write(folder / "run", found), index_dir=folder / "index") as library:
        run = library.runs[0]
        (summary,) = query.evals(run, "reward", bar, ks=(1, 2, 3))
        assert [one.step for one in summary.steps] == sorted({step for step, _, _ in found})
        for one in summary.steps:
            check_step(found, bar, one)
        check_grid(found, bar, run)


def check_step(found: Drawn, bar: float, one: EvalStep) -> None:
    """A step of an evaluation, counted again."""
    cells = [values for prompt in range(5) if (values := by_hand(found, one.step, prompt))]
    values = [value for cell in cells for value in cell]
    assert (one.prompts, one.samples - one.without) == (len(cells), len(values))
    assert one.samples == sum(step == one.step for step, _, _ in found)
    assert one.score == (pytest.approx(sum(values) / len(values)) if values else None)
    assert one.correct == (pytest.approx(sum(value >= bar for value in values) / len(values)) if values else None)
    for k, at, every, held in zip((1, 2, 3), one.pass_at, one.pass_all, one.prompts_at, strict=True):
        draws = [list(combinations([value >= bar for value in cell], k)) for cell in cells if len(cell) >= k]
        assert held == len(draws)
        assert at == (
            pytest.approx(np.mean([np.mean([any(one) for one in ways]) for ways in draws])) if draws else None
        )
        assert every == (
            pytest.approx(np.mean([np.mean([all(one) for one in ways]) for ways in draws])) if draws else None
        )


def grid_of(run: OpenRun, split: str, metric: str = "", bar: float | None = None, **asked: Any) -> query.PromptGrid:
    return query.grid(run, GridQuery(split=split, metric=metric, bar=bar, **asked))


def answers_of(
    run: OpenRun, split: str, step: int, prompt: str, metric: str = "", bar: float | None = None
) -> list[Answer]:
    return query.answers(run, AnswerQuery(split=split, step=step, prompt=prompt, metric=metric, bar=bar)).answers


def check_grid(found: Drawn, bar: float, run: OpenRun) -> None:
    """The grid, counted again, and the samples of each of its cells."""
    steps = sorted({step for step, _, _ in found})
    whole = grid_of(run, SPLIT, "reward", bar)
    known = {p for _, p, _ in found if any(by_hand(found, step, p) for step in steps)}
    assert (whole.steps, whole.total) == (steps, len(known))
    assert {one.prompt for one in whole.prompts} == {f"Problem {p}" for p in known}
    for one in whole.prompts:
        prompt = int(one.prompt.split()[1])
        for step, n, c in zip(steps, one.n, one.c, strict=True):
            own = by_hand(found, step, prompt)
            asked = [reward for s, p, reward in found if (s, p) == (step, prompt)]
            assert (n, c) == ((len(own), sum(value >= bar for value in own)) if asked else (-1, 0))
            if asked:
                answers = answers_of(run, SPLIT, step, one.name, "reward", bar)
                assert len(answers) == len(asked) and sum(one.correct is True for one in answers) == c
        shares = [c / n for n, c in zip(one.n, one.c, strict=True) if n > 0]
        assert one.verdict == verdict(shares) and one.beat is None
    for low, high in ((1, 2), (None, 1), (2, None), (7, 9)):
        kept = [i for i, step in enumerate(steps) if (low is None or step >= low) and (high is None or step <= high)]
        there = {one.name: [(one.n[i], one.c[i]) for i in kept] for one in whole.prompts}
        between = grid_of(run, SPLIT, "reward", bar, step_min=low, step_max=high)
        assert between.steps == [steps[i] for i in kept]
        assert {one.name: list(zip(one.n, one.c, strict=True)) for one in between.prompts} == {
            name: cells for name, cells in there.items() if any(n > 0 for n, _ in cells)
        }
        for one in between.prompts:
            assert one.verdict == verdict([c / n for n, c in zip(one.n, one.c, strict=True) if n > 0])
    for only, count in whole.counts.items():
        page = grid_of(run, SPLIT, "reward", bar, only=only)
        assert page.total == count == len(page.prompts)
    pieces = [grid_of(run, SPLIT, "reward", bar, sort="share", offset=at, limit=2).prompts for at in range(0, 6, 2)]
    together = [one for page in pieces for one in page]
    assert sorted(one.name for one in together) == sorted(one.name for one in whole.prompts)
    rates = [sum(one.c) / sum(n for n in one.n if n > 0) for one in together]
    assert rates == sorted(rates)


def test_training_prompts_that_come_again(tmp_path: Path) -> None:
    found: Drawn = [(0, 0, 0.0), (1, 0, 1.0), (0, 1, 1.0), (2, 1, 0.0), (1, 2, 1.0), (0, 3, 0.0), (2, 3, 0.0)]
    with opened(write(tmp_path / "run", found, "train"), index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        assert query.evals(run) == []
        grid = grid_of(run, "train")
        assert {one.prompt: one.verdict for one in grid.prompts} == {
            "Problem 0": "solved", "Problem 1": "lost", "Problem 3": "never",
        }  # fmt: skip
        assert (grid.total, grid.once) == (3, 1)
        (lost,) = grid_of(run, "train", only="lost").prompts
        assert (lost.n, lost.c) == ([1, -1, 1], [1, 0, 0])
        assert [one.verdict for one in grid_of(run, "train", sort="change").prompts] == ["lost", "never", "solved"]


def test_what_never_beat_the_reference(tmp_path: Path) -> None:
    """Each answer is compared with the reference of its own row: that of P2 once beat its own, and no other."""
    drawn = ((0, 0, 0.1, 0.5), (0, 1, 0.9, 0.5), (1, 0, 0.2, 0.5), (1, 1, 0.5, 0.5), (1, 2, 0.6, None),
             (2, 0, 0.3, 0.1), (2, 1, 0.2, 0.8), (3, 0, 0.2, None), (3, 1, math.nan, 0.1))  # fmt: skip
    rows = [
        {"prompt": f"P{p}", "response": "a", "ref_response": "b", "reward": reward, "ref_reward": ref, "step": step}
        for p, step, reward, ref in drawn
    ]
    path = tmp_path / "run/data.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    with opened(
        tmp_path / "run", index_dir=tmp_path / "index", reading=rolloupe.model.Reading(format="rl_logging_board")
    ) as library:
        grid = grid_of(library.runs[0], "train")
        assert {one.prompt: one.beat for one in grid.prompts} == {"P0": True, "P1": False, "P2": True}
        alone = grid_of(library.runs[0], "train", step_min=1)
        assert {one.prompt: one.beat for one in alone.prompts} == {"P1": False}
        assert [one.prompt for one in grid_of(library.runs[0], "train", only="unbeaten").prompts] == ["P1"]
        assert grid.counts["unbeaten"] == 1


def test_a_bar_that_no_answer_reaches_is_replaced_or_said(tmp_path: Path) -> None:
    values = [0.17 * step * p / 12 - 0.05 for step in range(4) for p in range(4)]
    rewards: Drawn = [(n // 4, n % 4, value) for n, value in enumerate(values)]
    with opened(write(tmp_path / "low", rewards), index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        mean = sum(values) / 16
        grid, (summary,), (judge,) = grid_of(run, SPLIT), query.evals(run), query.judges(run)
        assert (grid.bar, grid.falls) == (judge.bar.value, judge.bar.falls) and (summary.bar, summary.reason) == (
            judge.bar.value,
            judge.bar.reason,
        )
        assert grid.bar == pytest.approx(mean)
        assert grid.reason == "no answer reaches 1, so the bar is the mean of all values"
        right = [value >= mean for value in values]
        assert sum(sum(one.c) for one in grid.prompts) == sum(right) and 0 < sum(right) < 16
        cells = [answers_of(run, SPLIT, step, one.name) for one in grid.prompts for step in range(4)]
        assert sum(bool(one.correct) for cell in cells for one in cell) == sum(right)
        asked = grid_of(run, SPLIT, bar=0.5)
        assert (asked.bar, asked.reason) == (0.5, "as requested; no answer reaches it: the best is 0.0775")
        assert query.wrong_answers(run, SPLIT) == "reward < 1"  # nothing but the comparison of prompts takes the mean
    for name, reward, why in (
        ("none", 0.0, "no range of rewards is declared; no answer reaches it: the best is 0"),
        ("all", 1.0, "no range of rewards is declared"),
    ):
        with opened(write(tmp_path / name, [(0, 0, reward)] * 3), index_dir=tmp_path / "index") as library:
            grid = grid_of(library.runs[0], SPLIT)
            assert (grid.bar, grid.reason) == (1.0, why)
    with Recorder(tmp_path / "declared", code=None, reward_range=(0, 2)) as record:
        for number in range(4):
            record.sample(step=number, split="eval/x", group="g", index=0, prompt="P", reward=number / 2)
    with opened(tmp_path / "declared", index_dir=tmp_path / "index") as library:
        (judge,) = query.judges(library.runs[0])
        assert judge.bar.value == 2
        assert judge.bar.reason == "the highest reward that the run declares; no answer reaches it: the best is 1.5"


def test_evaluations_without_rewards_are_told_by_what_the_run_declares(demo_index: Path) -> None:
    with opened(RUN, index_dir=demo_index) as library:
        run = library.runs[0]
        countdown, countdown_after, shop, shop_after = query.evals(run)
        assert [[step.step for step in one.steps] for one in (countdown_after, shop_after)] == [[10], [10]]
        assert (countdown_after.metric, countdown_after.bar) == ("_equation_reward", 1.0)
        assert (countdown.metric, countdown.bar, countdown.reason) == (
            "_equation_reward",
            1.0,
            "the best value that the run declares",
        )
        assert [one.step for one in countdown.steps] == [0, 5, 10] and countdown.ks[:2] == (1, 2)
        own = {item.key.step: 0.0 for item in query.every(run, query.SampleQuery(splits=("eval/countdown",)))}
        for item in query.every(run, query.SampleQuery(splits=("eval/countdown",))):
            if item.key.index == "0":  # what the framework itself counted
                own[item.key.step] += item.metrics["pass@2/_equation_reward"] / 6
        at = {one.step: one.pass_at[1] for one in countdown.steps}
        assert at == {step: pytest.approx(value) for step, value in own.items()}
        assert shop.metric in shop.metrics and shop.steps[0].prompts == 4
        errors = query.evals(run, "num_tool_errors")[2]
        assert errors.falls and errors.bar == 0.0
        train = query.evals_bar(run, "reward", None)
        assert train.by_env == (("countdown", 2.0), ("shop_agent", 1.2))


def test_questions_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    with opened(write(tmp_path / "run", [(0, 0, 1.0)]), index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        with pytest.raises(BadQuery, match="no sample metric"):
            query.evals(run, "odd")
        with pytest.raises(BadQuery, match="positive"):
            query.evals(run, ks=(0,))
        with pytest.raises(BadQuery, match="only= is one of"):
            grid_of(run, SPLIT, only="odd")
        with pytest.raises(NotFound, match="no split"):
            grid_of(run, "eval/none")
        for prompt in ("odd", "0" * 16):
            with pytest.raises(NotFound, match="no prompt"):
                answers_of(run, SPLIT, 0, prompt)


Metrics = dict[str, float]
JUDGED: dict[str, tuple[dict[str, tuple[float, float]], tuple[Metrics, Metrics], str, str]] = {
    "declared": ({"correct": (0, 1)}, ({"correct": 0.5}, {"correct": 1.0}), "correct", "the run declares its range"),
    "less is better": ({"solved": (9, 2)}, ({"solved": 2.0}, {"solved": 9.0}), "solved", "the run declares its range"),
    "nothing but 0 and 1": ({}, ({"is_correct": 0.0}, {"is_correct": 1.0}), "is_correct", "nothing but 0 and 1"),
    "never right": ({}, ({"acc": 0.0}, {"acc": 0.0}), "acc", "nothing but 0 and 1"),
    "the name that says most": ({}, ({"acc": 0, "correct": 1}, {"acc": 1, "correct": 1}), "correct", "0 and 1"),
    "in parts": ({}, ({"correct": 0.0}, {"correct": 0.5}), "reward", "the highest reward"),
    "hardly in parts": ({}, ({"correct": 0.0}, {"correct": 0.99999}), "reward", "the highest reward"),
    "a count": ({}, ({"correct": 0}, {"correct": 3}), "reward", "the highest reward"),
    "beyond": ({}, ({"correct": -1}, {"correct": 1}), "reward", "the highest reward"),
    "of something else": ({}, ({"format_correct": 1, "incorrect": 0}, {}), "reward", "the highest reward"),
    "declared, of something else": ({"format": (0, 1)}, ({"format": 1}, {"format": 0}), "reward", "the highest reward"),
    "not of all": ({"correct": (0, 1)}, ({"correct": 1}, {}), "reward", "the highest reward"),
}


@pytest.mark.parametrize("case", JUDGED)
def test_by_what_an_evaluation_is_told(tmp_path: Path, case: str) -> None:
    ranges, (even, odd), metric, reason = JUDGED[case]
    with Recorder(tmp_path / "run", code=None, metric_ranges=ranges, reward_range=(0, 2)) as record:
        for number in range(8):
            own = odd if number % 2 else even
            record.sample(step=number // 4, split="eval/x", group="g", index=number, reward=1.6, metrics=own)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        (judge,) = query.judges(run)
        assert (judge.split, judge.metric) == ("eval/x", metric) and reason in judge.bar.reason
        assert judge.bar.value == {"solved": 2, "reward": 2}.get(metric, 1) and judge.bar.falls == (metric == "solved")
        assert {"reward", *even} <= set(judge.metrics)
        (found,) = query.evals(run)
        assert (found.metric, found.bar, found.reason) == (metric, judge.bar.value, judge.bar.reason)
        assert grid_of(run, "eval/x").metric == metric
        wrong = query.SampleQuery(where=conditions(query.wrong_answers(run, "eval/x")))
        right = sum(one.samples * (one.correct or 0) for one in found.steps)
        assert len([*query.every(run, wrong)]) == 8 - right
        (named,) = query.evals(run, "reward")
        assert (named.metric, named.bar) == ("reward", 2)
        (asked,) = query.evals(run, threshold=0.25)
        assert (asked.metric, asked.bar, asked.reason.split(";")[0]) == (metric, 0.25, "as requested")


def test_the_demo_is_told_by_what_it_calls_correct(demo_runs: Path, demo_index: Path) -> None:
    with opened(demo_runs / "tiny_grpo", demo_index) as library:
        run = library.runs[0]
        held_out, longer = query.evals(run)
        for found in (held_out, longer):
            assert (found.metric, found.bar) == ("correct", 1.0)
            assert found.reason == "its name means correctness, and the run declares its range"
        samples = list(query.every(run, query.SampleQuery(splits=("eval/held_out",), step_min=90, step_max=90)))
        right = sum(one.metrics["correct"] >= 1 for one in samples) / len(samples)
        by_reward = query.evals(run, "reward")[0].steps[-1].correct
        assert held_out.steps[-1].correct == pytest.approx(right)
        assert by_reward is not None and by_reward < right < 1  # who is right and wordy does not get the best reward
        grid = grid_of(run, "eval/held_out")
        cells = [(one.name, c, n) for one in grid.prompts for c, n in [(one.c[-1], one.n[-1])]]
        assert sum(c for _, c, _ in cells) / sum(n for _, _, n in cells) == pytest.approx(right)
        name, c, _ = cells[0]
        assert sum(one.correct is True for one in answers_of(run, "eval/held_out", 90, name)) == c


def test_what_is_told_of_some_steps_alone_tells_nothing(demo_runs: Path, demo_index: Path) -> None:
    with opened(demo_runs / "other_formats/relax", demo_index) as library:
        assert [one.metric for one in query.judges(library.runs[0])] == ["reward", "reward"]  # `reward.acc` at one step
