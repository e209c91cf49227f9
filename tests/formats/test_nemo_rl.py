"""NeMo-RL: values in lists of one element, token arrays padded to the longest of the batch."""

import gzip
import shutil
from collections import Counter
from pathlib import Path

from rolloupe.model import Problem
from tests.formats.support import items, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "nemo_rl" / "exp_001"
TOKENIZER = Path(__file__).parents[1] / "data" / "miles" / "demo_dump_details" / "tokenizer"


def test_training_and_validation_of_a_run() -> None:
    run = only_run(DATA)
    found = rows(run)
    assert (run.format, Counter((row.split, row.step) for row in found)) == (
        "nemo_rl", {("train", 1): 8, ("eval/validation", 1): 6},
    )  # fmt: skip
    train = [row for row in found if row.split == "train"]
    assert mean_reward(train) == 0.5 and set(Counter(row.group for row in train).values()) == {4}
    assert train[0].env == "toy"


def test_arrays_are_cut_at_the_length_of_the_sample_and_hidden_in_its_prompt() -> None:
    sample = next(one for one in samples(only_run(DATA)) if one.key.split == "train")
    assert (len(sample.token_ids), sample.row.prompt_tokens, sample.row.response_tokens) == (44, 15, 29)
    series = {one.name: one for one in sample.series}
    assert [*series] == ["loss_mask", "logprobs", "old_logprobs", "advantages"]
    assert {len(one.values) for one in series.values()} == {44}
    logprobs = series["logprobs"].values
    assert logprobs[14] != logprobs[14] and round(logprobs[15], 6) == -0.001519
    assert [turn.role for turn in sample.turns] == ["user", "assistant"]


def test_empty_contents_are_decoded_and_samples_outside_the_loss_are_discarded(tmp_path: Path) -> None:
    line = {
        "content": [""], "rewards": [1.0], "input_lengths": [3], "token_ids": [[5, 6, 7, 0, 0]],
        "token_loss_mask": [[0, 1, 1, 0, 0]], "sample_loss_mask": [0.0], "advantages": [0.5], "idx": 0,
    }  # fmt: skip
    write(tmp_path / "train_data_step9.jsonl", line)
    (sample,) = samples(only_run(tmp_path))
    assert (sample.prompt_text, sample.response_text, sample.key.step) == ("5", "6 7", 9)
    assert (sample.row.discarded, sample.row.advantage) == ("sample_loss_mask", 0.5)
    (decoded,) = samples(only_run(tmp_path, tokenizer=str(TOKENIZER)))
    assert decoded.response_text == "".join(decoded.token_strings[1:]) and decoded.key == sample.key


def test_a_file_in_the_making_and_a_compressed_one(tmp_path: Path) -> None:
    data = (DATA / "train_data_step1.jsonl").read_bytes()
    (tmp_path / "train_data_step1.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "train_data_step2.jsonl").write_bytes(data[:-30])
    found = items(only_run(tmp_path))
    assert [isinstance(one, Problem) for one in found].count(True) == 1 and len(found) == 16


def test_collected_rollouts_of_nemo_gym_are_an_evaluation_beside_batches_or_alone(tmp_path: Path) -> None:
    gym = DATA.parents[1] / "nemo_gym" / "results" / "example_single_tool_call__example_rollouts.jsonl"
    for folder in ("with", "alone"):
        (tmp_path / folder).mkdir()
        shutil.copy(gym, tmp_path / folder / "trajectory_collection.jsonl")
    shutil.copy(DATA / "val_data_step1.jsonl", tmp_path / "with")
    for folder, splits in (("with", {"eval/trajectory_collection": 5, "eval/validation": 6}), ("alone", {})):
        run = only_run(tmp_path / folder)
        found = Counter(row.split for row in rows(run))
        assert (run.format, found) == ("nemo_rl", splits or {"eval/trajectory_collection": 5})
    (first, *_) = samples(only_run(tmp_path / "alone" / "trajectory_collection.jsonl"))
    assert [turn.role for turn in first.turns] == ["developer", "user", "assistant"] and first.row.reward == 1.0


def test_batches_without_ids_are_of_training_by_the_name_of_their_file(tmp_path: Path) -> None:
    line = {
        "rewards": [1.0], "input_lengths": [3], "token_loss_mask": [[0, 1, 1]], "sample_loss_mask": [1.0],
        "advantages": [[0.0, 0.5, 0.5]], "content": [["2+2?", "4"]], "idx": 0,
    }  # fmt: skip
    write(tmp_path / "exp_001" / "train_data_step7.jsonl", line, line | {"rewards": [0.0]})
    found = rows(only_run(tmp_path / "exp_001"))
    assert [(row.split, row.step, row.reward, row.prompt, row.response) for row in found] == [
        ("train", 7, 1.0, "2+2?", "4"), ("train", 7, 0.0, "2+2?", "4"),
    ]  # fmt: skip
    assert (found[0].prompt_tokens, found[0].total_tokens, len({row.group for row in found})) == (None, None, 1)
