"""RLLoggingBoard: the numbers of real and generated files, ranks, evaluations beside runs, token series."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import discover
from rolloupe.model import RunInfo, Sample, SampleRow
from rolloupe.wire import to_wire
from tests.formats.support import mean_reward, only_run, rows, samples, write

ROW: dict[str, Any] = {"prompt": "p", "response": "r", "reward": 1.0, "step": 0, "ref_response": "x"}


@pytest.fixture
def toy(demo_runs: Path) -> RunInfo:
    return only_run(demo_runs / "other_formats/rl_logging_board" / "gen_train_toy")


def sample_of(tmp_path: Path, **record: Any) -> Sample:
    """The sample of one record."""
    write(tmp_path / "run" / "rank_0.jsonl", ROW | record)
    (sample,) = samples(only_run(tmp_path / "run"))
    return sample


def test_the_poems_have_their_counts_and_rewards(demo_runs: Path) -> None:
    found = rows(only_run(demo_runs / "other_formats/rl_logging_board" / "eval_poem_task"))
    assert Counter(row.step for row in found) == dict.fromkeys(range(0, 400, 100), 128)
    assert mean_reward(found) == pytest.approx(-0.1089899765, abs=1e-9)
    rewards = [row.reward for row in found if row.reward is not None]
    assert min(rewards) == -2.2
    assert max(rewards) == pytest.approx(0.1667, abs=1e-4)
    assert all(row.metrics.keys() == {"ref_reward", "ref_response_chars", "reward_gap"} for row in found)


def test_the_toy_run_has_its_counts_rewards_and_divergences(toy: RunInfo) -> None:
    steps: dict[int, list[SampleRow]] = defaultdict(list)
    for row in rows(toy):
        steps[row.step].append(row)

    def total(step: int, name: str) -> float:
        return sum(row.metrics[name] for row in steps[step])

    assert [len(steps[n]) for n in range(3)] == [16, 16, 16]
    assert [mean_reward(steps[n]) for n in range(3)] == [0.5, 0.625, 0.65625]
    means: Callable[[str], list[float]] = lambda name: [total(n, name) / 16 for n in range(3)]  # noqa: E731
    assert means("avg_log_ratio") == pytest.approx([0.0124712, 0.0163428, 0.0035604], abs=1e-6)
    assert means("avg_kl") == pytest.approx([0.0078308, 0.0181490, 0.0075054], abs=1e-6)
    assert [total(n, "sum_kl") for n in range(3)] == pytest.approx([3.85876, 8.84258, 3.84684], abs=1e-5)
    assert means("reward_gap") == [0.25, 0.375, 0.40625]


def test_token_series_are_as_long_as_the_tokens_without_padding(toy: RunInfo) -> None:
    for sample in samples(toy):
        assert [one.name for one in sample.series] == [
            "logprobs", "ref_logprobs", "values", "token_rewards", "log_ratio", "kl",
        ]  # fmt: skip
        assert {len(one.values) for one in sample.series} == {len(sample.token_strings)} == {sample.row.response_tokens}
        assert "<PAD>" not in sample.token_strings
        assert sample.row.metrics["response_tokens_len"] == len(sample.token_strings) + 1
        assert sample.label
        assert sample.ref_reward is not None
        assert sample.ref_turns
        assert not any("unequal" in note for note in sample.notes)


def test_padding_is_dropped_from_the_texts_and_said(toy: RunInfo) -> None:
    for sample in samples(toy):
        assert "<PAD>" not in sample.prompt_text + sample.response_text
        assert any("<PAD> dropped from the prompt" in note for note in sample.notes)
        assert [turn.role for turn in sample.turns] == ["user", "assistant"]


def test_ground_truth_and_reference_are_columns(toy: RunInfo) -> None:
    row = rows(toy)[0]
    assert row.tags["label"] == "6" and row.tags["ref_response"].startswith("<think> ")
    assert not any(fact.name in ("label", "ref_response") for fact in to_wire.facts(samples(toy)[0])), (
        "shown whole elsewhere"
    )


def test_padding_does_not_part_a_group(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl", ROW, ROW | {"prompt": "<PAD><PAD>p"})
    first, second = rows(only_run(tmp_path))
    assert first.group == second.group


def test_a_root_of_folders_is_a_root_of_runs(demo_runs: Path) -> None:
    found = discover([demo_runs / "other_formats/rl_logging_board"])
    assert [run.name for run in found.runs] == ["eval_poem_task", "gen_train_toy"]
    assert found.notes == []


def test_ranks_are_merged_and_their_samples_told_apart(tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path / f"rank_{rank}.jsonl", ROW, ROW | {"step": 1})
    found = rows(only_run(tmp_path))
    assert Counter(row.step for row in found) == {0: 2, 1: 2}
    size = len(json.dumps(ROW)) + 1
    assert [row.index for row in found] == ["rank_0:0", f"rank_0:{size}", "rank_1:0", f"rank_1:{size}"]


def test_an_id_stays_when_a_second_rank_appears(tmp_path: Path) -> None:
    write(tmp_path / "rank_0.jsonl", ROW)
    run = only_run(tmp_path)
    (before,) = rows(run)
    write(tmp_path / "rank_1.jsonl", ROW)
    after = rows(run)
    assert len(after) == 2
    assert before in after


@pytest.mark.parametrize("host", ["poems", "train_poems"])
def test_an_evaluation_beside_its_run_is_a_split_of_it(tmp_path: Path, host: str) -> None:
    write(tmp_path / host / "rank_0.jsonl", ROW)
    write(tmp_path / "eval_poems" / "rank_0.jsonl", ROW, ROW | {"step": 1})
    (run,) = discover([tmp_path]).runs
    assert run.name == host
    assert [part.split for part in run.parts] == [None, "eval/poems"]
    assert Counter((row.split, row.step) for row in rows(run)) == {
        ("train", 0): 1, ("eval/poems", 0): 1, ("eval/poems", 1): 1,
    }  # fmt: skip


def test_an_evaluation_without_a_run_beside_it_is_a_run(tmp_path: Path) -> None:
    write(tmp_path / "eval_poems" / "rank_0.jsonl", ROW)
    write(tmp_path / "other" / "rank_0.jsonl", ROW)
    assert [run.name for run in discover([tmp_path]).runs] == ["eval_poems", "other"]


def test_a_row_without_a_step_says_under_which_it_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl", *(ROW | {"step": step} for step in (3, "4", 5.0, None)))
    found = samples(only_run(tmp_path))
    assert [sample.key.step for sample in found] == [3, 4, 5, 0]
    assert [any("no step in the record" in note for note in sample.notes) for sample in found] == [False] * 3 + [True]


def test_arrays_of_unequal_length_are_cut_to_the_shortest_with_a_note(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path,
        response_tokens=["a", "b", "c", "d"],
        logprobs=[-1.0, -2.0, -3.0],
        ref_logprobs=[-1.5, -1.5],
        values=[1.0] * 9,
    )
    assert sample.token_strings == ["a", "b"]
    assert {one.name: list(one.values) for one in sample.series} == {
        "logprobs": [-1.0, -2.0], "ref_logprobs": [-1.5, -1.5], "values": [1.0, 1.0], "log_ratio": [0.5, -0.5],
        "kl": pytest.approx([math.exp(0.5) - 1.5, math.exp(-0.5) - 0.5]),
    }  # fmt: skip
    assert sample.notes == [
        "arrays of unequal length, shown up to the shortest (2): logprobs has 3, values has 9, tokens has 4"
    ]
    assert sample.row.response_tokens == 4
    assert sample.row.metrics["sum_log_ratio"] == 0.0


def test_entropy_and_advantages_are_series_and_count_under_the_masks_of_the_row(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path, logprobs=[-1.0, -2.0, -9.0, -9.0], ref_logprobs=[-1.5, -2.0, -1.0, -1.0],
        entropy=[0.5, 1.0, 9.0, 9.0], advantages=[2.0] * 4, loss_mask=[1, 1, 0, 1], attention_mask=[1, 1, 1, 0],
    )  # fmt: skip
    series = {one.name: one for one in sample.series}
    assert str(list(series["entropy"].values)) == "[0.5, 1.0, nan, nan]"
    assert list(series["entropy"].stored or []) == [0.5, 1.0, 9.0, 9.0]
    assert str(list(series["advantages"].values)) == "[2.0, 2.0, nan, nan]"
    assert list(series["loss_mask"].values) == [1, 1, 0, 1] and series["loss_mask"].stored is None
    assert sample.extra == {}
    assert (sample.row.metrics["sum_log_ratio"], sample.row.metrics["avg_log_ratio"]) == (0.5, 0.25)
    assert sample.row.series["entropy"].max == 1.0 and "loss_mask" not in sample.row.series


def test_what_is_not_a_number_in_an_array_is_nan_and_left_out_of_means(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, logprobs=[-1.0, None, "x", math.nan, 10**400], ref_logprobs=[-2.0] * 5)
    series = {one.name: list(one.values) for one in sample.series}
    assert [math.isnan(value) for value in series["logprobs"]] == [False, True, True, True, False]
    assert series["logprobs"][4] == math.inf
    assert sample.row.metrics["avg_log_ratio"] == math.inf
    assert sample.row.response_tokens == 5


def test_gaps_need_both_rewards_of_one_line(tmp_path: Path) -> None:
    write(
        tmp_path / "r.jsonl",
        ROW | {"ref_reward": 0.25, "valid_reward": 3, "ref_response": None},
        ROW | {"ref_reward": "x", "ref_response": "<PAD>four"},
        ROW | {"reward": None, "ref_response": None},
    )
    assert [row.metrics for row in rows(only_run(tmp_path))] == [
        {"ref_reward": 0.25, "valid_reward": 3.0, "reward_gap": 0.75, "valid_reward_gap": -2.0},
        {"ref_response_chars": 4.0}, {},
    ]  # fmt: skip


def test_only_padding_leaves_no_tokens(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, response_tokens=["<PAD>"], logprobs=[-1.0], ref_logprobs=[-1.0])
    assert sample.token_strings == []
    assert "avg_kl" not in sample.row.metrics


def test_the_end_of_a_system_prompt_is_not_cut(tmp_path: Path) -> None:
    assert sample_of(tmp_path, prompt="Be kind<endofsystem>Hi").prompt_text == "Be kind<endofsystem>Hi"


def test_rows_without_a_key_of_the_boards_own_are_left_to_others(tmp_path: Path) -> None:
    plain = {key: value for key, value in ROW.items() if key != "ref_response"}
    write(tmp_path / "a" / "x.jsonl", plain | {"logprobs": [-1.0]})
    write(tmp_path / "b" / "x.jsonl", plain | {"ref_reward": 1.0})
    write(tmp_path / "c" / "x.jsonl", plain | {"note": "kept"})
    assert [run.format for run in discover([tmp_path]).runs] == ["generic", "rl_logging_board", "generic"]


def test_a_first_line_of_more_than_a_mebibyte_is_recognised_by_its_first_keys(tmp_path: Path) -> None:
    tokens = ["tok"] * 300_000
    write(tmp_path / "r.jsonl", {"prompt": "p", "response": "r", "response_tokens": tokens, "reward": 1, "step": 2})
    run = only_run(tmp_path)
    assert run.format == "rl_logging_board"
    assert rows(run)[0].response_tokens == 300_000


def test_a_number_that_the_board_ignores_is_a_sample_metric(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, ref_reward=0.5, acc=1, note="x" * 80)
    assert sample.row.metrics == {"ref_reward": 0.5, "ref_response_chars": 1.0, "acc": 1.0, "reward_gap": 0.5}
    assert sample.extra == {"note": "x" * 80}
