"""Token exports of prime-rl, in every shape that its exporter had."""

import json
import math
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe import tokens
from rolloupe.formats import by_name, discover
from rolloupe.formats.prime_rl.exports import MAX_TURNS, QUIET_S, SERIES, PrimeRL
from rolloupe.model import Problem, Sample
from tests.formats.support import items, only_run, rows, samples

DATA = Path(__file__).parents[2] / "data/prime_rl"
MINI = {
    "v1_pr2551": DATA / "mini/v1_pr2551", "v2_pr2592": DATA / "mini/v2_pr2592", "v4_pr2641": DATA / "mini/v4_pr2641",
    "v7_head": DATA / "mini/v7_head",
}  # fmt: skip


@pytest.fixture
def prime() -> PrimeRL:
    one = by_name("prime_rl")
    assert isinstance(one, PrimeRL)
    return one


def series(sample: Sample, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    (found,) = [one for one in sample.series if one.name == name]
    return np.array(found.values)


@pytest.mark.parametrize("version", list(MINI))
def test_hand_set_values_are_what_they_are(version: str) -> None:
    found = samples(only_run(MINI[version]))
    assert [(len(s.token_ids), s.row.response_tokens) for s in found[:2]] == [(6, 3), (5, 2)]
    assert len(found) == (4 if version == "v7_head" else 2)
    assert sum(s.row.metrics.get("is_masked", 0) for s in found) == 2
    assert sum(s.row.metrics.get("is_masked_high", 0) for s in found) == 1
    divergence = np.concatenate([series(s, "mismatch_kl") for s in found[:2]])
    assert np.nanmean(divergence) == pytest.approx(0.961136519908905, rel=1e-12)
    ratios = np.concatenate([series(s, "importance_ratio") for s in found[:2]])
    gaps = np.concatenate([series(s, "log_importance_ratio") for s in found[:2]])
    assert np.allclose(ratios, np.exp(gaps), rtol=1e-6, equal_nan=True)
    rewards = [s.row.reward for s in found[:2]]
    assert rewards == ([None, None] if version == "v7_head" else [1.0, 0.0])
    assert [s.row.advantage for s in found[:2]] == [0.5, -0.5]


@pytest.mark.parametrize("version", list(MINI))
def test_outside_of_the_mask_there_is_nothing(version: str) -> None:
    for sample in samples(only_run(MINI[version])):
        mask = series(sample, "loss_mask") == 1
        for one in sample.series:
            assert len(one.values) == len(sample.token_ids)
            if one.name != "loss_mask":
                assert np.isnan(np.array(one.values)[~mask]).all(), one.name


def test_a_value_that_is_null_is_absent() -> None:
    first = samples(only_run(MINI["v2_pr2592"]))[0]
    assert math.isnan(series(first, "trainer_logprobs")[5]) and math.isnan(series(first, "mismatch_kl")[5])
    assert series(first, "logprobs")[3] == pytest.approx(-2.3025848865509033)


@pytest.mark.parametrize(
    ("place", "lengths", "trained", "masked", "rewards"),
    [
        ("v4_pr2641", [565, 425, 369], 540, 24, [1.36, 1.41, 1.4933333]),
        ("v6_pr3189", [425, 369, 565], 540, 24, [None, None, None]),
    ],
)
def test_exports_of_several_turns(
    place: str, lengths: list[int], trained: int, masked: int, rewards: list[float | None]
) -> None:
    found = rows(only_run(DATA / "exports" / place))
    assert [row.total_tokens for row in found] == lengths
    assert sum(row.response_tokens or 0 for row in found) == trained
    assert sum(row.metrics["is_masked"] for row in found) == masked
    assert [row.reward and round(row.reward, 7) for row in found] == rewards
    assert len({row.index for row in found}) == 3 and {row.env for row in found} == {"wordle"}
    assert {row.turns for row in found} == {2, 3, 4} and len({row.group for row in found}) == 1


def test_turns_are_the_spans_of_the_mask() -> None:
    sample = samples(only_run(DATA / "exports/v6_pr3189"))[0]
    assert [turn.role for turn in sample.turns[:3]] == ["prompt", "assistant", "context"]
    spans = [(turn.token_start, turn.token_stop) for turn in sample.turns]
    assert spans[0][0] == 0 and spans[-1][1] == len(sample.token_ids)
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert sample.turns[0].parts[0].text.split()[:3] == [str(one) for one in sample.token_ids[:3]]
    assert any("token ids" in note for note in sample.notes)


def test_each_run_below_a_root_is_a_run(tmp_path: Path, prime: PrimeRL) -> None:
    for name in ("run_a", "run_b"):
        write(tmp_path / name / "token_exports/step_1/rank_0.jsonl", record())
    (tmp_path / "run_a/token_exports/step_1/rank_1.jsonl").touch()
    runs = discover([tmp_path]).runs
    assert sorted((run.name, run.format) for run in runs) == [("run_a", "prime_rl"), ("run_b", "prime_rl")]
    again = only_run(tmp_path / "run_a/token_exports")
    assert (again.name, len(prime.sources(again))) == ("run_a", 2)
    alone = only_run(tmp_path / "run_a/token_exports/step_1/rank_0.jsonl")
    assert [row.index for row in rows(alone)] == ["0-0"]


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def record(**more: Any) -> dict[str, Any]:
    return {
        "schema_version": 1, "step": 1, "rank": 0, "micro_step": 0, "micro_sequence_idx": 0, "export_sequence_idx": 0,
        "env_name": "e", "token_ids": [5, 6, 7, 8], "loss_mask": [False, True, True, False],
        "advantages": [9.0, 0.5, 0.5, 9.0], "trainer_logprobs": [-9.0, -1.0, -2.0, -9.0],
        "rl_weights": [None, None, None, None], **more,
    }  # fmt: skip


def test_a_step_is_being_written_until_it_is_stable(tmp_path: Path, prime: PrimeRL) -> None:
    root = tmp_path / "run"
    old = write(root / "token_exports/step_1/rank_0.jsonl", record())
    write(root / "token_exports/step_2/rank_0.jsonl", record(step=2))
    write(root / "token_exports/step_3/rank_0.jsonl", record(step=3))
    (root / "token_exports/step_3/STABLE").touch()
    (root / "token_exports/step_4").mkdir()
    long_ago = time.time() - QUIET_S - 5
    os.utime(old, (long_ago, long_ago))
    assert prime.step_states(only_run(root)) == {("train", 1): "incomplete", ("train", 2): "being written"}
    write(root / "token_exports/step_5/rank_0.jsonl", record(step=5, training_mode="rl", rl_weights=None))
    assert ("train", 5) not in prime.step_states(only_run(root))  # a version that wrote no STABLE


def test_arrays_that_disagree_are_shown_up_to_the_shortest(tmp_path: Path) -> None:
    write(tmp_path / "token_exports/rank_0.jsonl", record(trainer_logprobs=[-9.0, -1.0], entropy="x", is_masked=[1]))
    (sample,) = samples(only_run(tmp_path))
    assert (len(sample.token_ids), sample.row.response_tokens) == (1, 0)
    assert "shown up to the shortest (1)" in sample.notes[1] and sample.extra == {"entropy": "x"}


@pytest.mark.parametrize(
    "broken",
    [
        {"loss_mask": None}, {"loss_mask": []}, {"loss_mask": "yes"}, {"token_ids": []},
        {"token_ids": [None, "x", 2**80]},
        {"advantages": [float("nan")] * 4}, {"rank": None}, {"export_sequence_idx": "x"}, {"env_name": 3},
        dict.fromkeys(SERIES), {"trainer_logprobs": [[1], {}, "x", True]},
    ],
)  # fmt: skip
def test_odd_values_cost_nothing_else(tmp_path: Path, broken: dict[str, Any]) -> None:
    write(tmp_path / "token_exports/rank_0.jsonl", record(**broken), record(export_sequence_idx=1))
    found = items(only_run(tmp_path))
    assert not any(isinstance(item, Problem) for item in found) and len(found) == 2
    assert len(samples(only_run(tmp_path))) == 2


def test_the_first_shape_is_read_column_by_column() -> None:
    first, second = samples(only_run(MINI["v1_pr2551"])), samples(only_run(MINI["v2_pr2592"]))
    for a, b in zip(first, second, strict=True):
        assert (a.token_ids, a.row.group, a.row.metrics) == (b.token_ids, b.row.group, b.row.metrics)
        assert {one.name for one in b.series} <= {one.name for one in a.series}
        assert np.allclose(series(a, "mismatch_kl"), series(b, "mismatch_kl"), equal_nan=True)
        gaps = series(a, "log_importance_ratio")
        assert np.array_equal(series(a, "sample_kl_trainer_to_inference"), gaps, equal_nan=True)
        assert np.array_equal(series(a, "sample_kl_inference_to_trainer"), np.negative(gaps), equal_nan=True)
        for name, logprobs in (("probability", "trainer_logprobs"), ("sampling_probability", "logprobs")):
            assert np.allclose(series(a, name), np.exp(series(a, logprobs)), equal_nan=True)
        assert np.nanmax(series(a, "rewards")) == np.nanmin(series(a, "rewards")) == a.row.reward


def one(tmp_path: Path, **more: Any) -> Sample:
    write(tmp_path / "token_exports/rank_0.jsonl", record(**more))
    (sample,) = samples(only_run(tmp_path))
    return sample


@pytest.mark.parametrize("place", ["mini/v4_pr2641", "exports/v4_pr2641", "exports/v6_pr3189"])
def test_the_values_follow_from_the_logprobs_as_the_house_computes_them(place: str) -> None:
    for sample in samples(only_run(DATA / place)):
        gap = series(sample, "trainer_logprobs") - series(sample, "logprobs")
        bound = 1e-6 * np.maximum(1, np.exp(gap))
        known = ~np.isnan(gap)
        assert known.sum() >= 2
        assert (np.abs(series(sample, "mismatch_kl") - tokens.board_kl(gap))[known] <= bound[known]).all()
        assert (np.abs(series(sample, "importance_ratio") - np.exp(gap))[known] <= bound[known]).all()
        assert sample.row.metrics["abs_log_importance_ratio"] == pytest.approx(np.nanmean(np.abs(gap)), rel=1e-5)


def test_sequences_that_the_cross_entropy_trains_have_no_ratios(tmp_path: Path) -> None:
    *rl, first, second = samples(only_run(MINI["v7_head"]))
    assert [s.row.metrics.get("ce_only") for s in (*rl, first, second)] == [None, None, 3, 2]
    assert "mismatch_kl" not in first.row.metrics and "mismatch_kl" not in {one.name for one in first.series}
    assert any("null throughout" in note and "mismatch_kl" in note for note in first.notes)
    assert series(first, "ce_weights")[3:].tolist() == [1, 1, 1]
    mixed = one(tmp_path, rl_weights=[0, 1, 0, 0], ce_weights=[0, 1, 1, 0], ref_kl_weights=None)
    assert mixed.row.metrics["ce_only"] == 1


def test_the_first_token_has_no_value_of_the_trainer_whatever_the_mask_says(tmp_path: Path) -> None:
    sample = one(tmp_path, loss_mask=[True] * 4, entropy=[9.0, 1.0, 1.0, 1.0])
    assert math.isnan(series(sample, "trainer_logprobs")[0]) and math.isnan(series(sample, "entropy")[0])
    assert (sample.row.metrics["entropy"], series(sample, "advantages")[0]) == (1.0, 9.0)
    assert (sample.row.prompt_tokens, sample.row.response_tokens) == (0, 4)


def test_the_reward_is_the_first_finite_one_under_the_mask(tmp_path: Path) -> None:
    assert one(tmp_path, rewards=[5.0, None, math.inf, 0.25]).row.reward is None
    assert one(tmp_path, rewards=[5.0, math.inf, 0.25, 7.0]).row.reward == 0.25


def test_a_mask_of_very_many_spans_is_shown_up_to_a_bound(tmp_path: Path) -> None:
    length = 3 * MAX_TURNS
    row = {"token_ids": [7] * length, "loss_mask": [False, True] * (length // 2), "advantages": [], "rl_weights": []}
    sample = one(tmp_path, **row, trainer_logprobs=[-1.0] * length)
    assert len(sample.turns) == MAX_TURNS
    assert sum(turn.tokens or 0 for turn in sample.turns) == length
    assert sample.row.turns == length // 2


def test_values_that_are_null_under_the_mask_are_counted() -> None:
    first, second = samples(only_run(MINI["v2_pr2592"]))
    said = "trainer_logprobs has no finite value for 1 of the tokens under the mask: written as null"
    assert said in first.notes and said not in second.notes


def test_a_step_whose_folder_goes_away_is_no_trouble(tmp_path: Path, prime: PrimeRL) -> None:
    path = write(tmp_path / "token_exports/step_2/rank_0.jsonl", record(step=2))
    run = only_run(tmp_path)
    path.parent.chmod(0)
    try:
        assert prime.step_states(run) in ({}, {("train", 2): "being written"})  # root may read what nobody may
    finally:
        path.parent.chmod(0o755)


def test_ranks_that_are_all_empty_so_far_are_a_run_by_their_place(tmp_path: Path) -> None:
    for rank in range(2):
        path = tmp_path / f"token_exports/step_0/rank_{rank}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    run = only_run(tmp_path)
    assert run.reason == "2 files of ranks in 1 step, all of them empty so far"
    assert rows(run) == []


def test_the_list_of_steps_says_which_are_not_finished(tmp_path: Path) -> None:
    for step in (1, 2):
        write(tmp_path / f"run/token_exports/step_{step}/rank_0.jsonl", record(step=step))
    (tmp_path / "run/token_exports/step_1/STABLE").touch()
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert [(step.step, step.state) for step in runs.steps()] == [(1, ""), (2, "being written")]
    (tmp_path / "run/token_exports/step_2/STABLE").touch()
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert [step.state for step in runs.steps()] == ["", ""]
