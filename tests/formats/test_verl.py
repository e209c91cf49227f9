"""verl: rollouts of both trainers, validation beside and among them, forks' columns, and what old addresses open."""

import gzip
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.derive import SampleView
from rolloupe.formats import by_name, discover
from rolloupe.formats.curve_files import home_of
from rolloupe.model import Reading, RunInfo, RunPart, Sample
from rolloupe.record.writers.texts import response_of
from rolloupe.text import preview, verbatim
from tests.formats.support import mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "generic"
ROW: dict[str, Any] = {"input": "user\nq\nassistant\n", "output": "a", "gts": "1", "score": 1.0, "step": 1}


def test_rows_of_the_classic_trainer(demo_runs: Path) -> None:
    run = only_run(DATA / "verl")
    assert (run.format, run.reason.partition(";")[0]) == (
        "verl",
        "2 files named by a step, rows have input, output and score",
    )
    assert "equal prompts that follow each other are inferred to be one" in run.reason
    found = rows(run)
    assert [mean_reward([row for row in found if row.step == step]) for step in (1, 2)] == [0.5, 0.625]
    assert Counter(Counter((row.step, row.group) for row in found).values()) == {4: 8}
    assert {(name, type(row.metrics["acc"])) for row in found for name in row.tags} == {("pred", float)}
    loaded = samples(run)
    assert all(one.label and one.facts["request_id"] and one.extra == {} for one in loaded)
    assert [turn.role for turn in loaded[0].turns] == ["user", "assistant"]
    assert len(rows(only_run(demo_runs / "other_formats/verl_math"))) == 64


def test_the_uid_of_verl_names_the_group_by_its_beginning() -> None:
    run = only_run(DATA / "verl_v1")
    found = rows(run)
    assert run.reason.endswith("groups are the beginnings of uid")
    assert sorted(Counter(row.group for row in found).values()) == [4, 4, 4, 4]
    assert found[0].uid == f"{found[0].group}_0_0"


ASKED = "system\nYou may search.\nuser\nWhere?\nassistant\n"
CALL = '<tool_call>\n{"name": "find", "arguments": {"q": "x"}}\n</tool_call>'
RESULT = "<tool_response>\nParis\n</tool_response>"


@pytest.mark.parametrize(
    ("prompt", "answer", "roles"),
    [
        (ASKED, f"Let me look. {CALL}\nuser\n{RESULT}\nassistant\nParis.", ["assistant", "tool", "assistant"]),
        (ASKED, f"{CALL}\nuser\n{RESULT}\n{RESULT}\nassistant\nA\nuser\nSure?\nassistant\nYes", None),
        (ASKED, f"{CALL}\nuser\n{RESULT}", ["assistant", "tool"]),
        (ASKED, "Three roles:\nsystem\nuser\nadmin", ["assistant"]),
        (ASKED, "The line\nassistant\nis no turn\nuser\nnor is this", ["assistant"]),
        ("Where?", f"{CALL}\nuser\n{RESULT}\nassistant\nParis.", ["assistant"]),
    ],
)
def test_role_lines_within_a_response_begin_turns_where_its_prompt_has_such_lines(
    tmp_path: Path, prompt: str, answer: str, roles: list[str] | None
) -> None:
    sample = answered(tmp_path, prompt, answer, roles or ["assistant", "tool", "assistant", "user", "assistant"])
    assert response_of(sample) == answer


def answered(tmp_path: Path, prompt: str, answer: str, roles: list[str]) -> Sample:
    """Check the turns of an answer, everywhere that shows or counts them, and return its sample."""
    write(tmp_path / "run" / "1.jsonl", ROW | {"input": prompt, "output": answer})
    run = only_run(tmp_path / "run")
    (row,), (sample,) = rows(run), samples(run)
    turns = [turn for turn in sample.turns if turn.origin == "response"]
    assert [turn.role for turn in turns] == roles and row.turns == roles.count("assistant")
    assert "".join(map(verbatim, turns)) == answer
    assert [turn.role for turn in SampleView(row).turns] == roles
    return sample


LLAMA = "system\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nuser\n\nWhere?assistant\n\n"
ITS_RESULT = '{"output": "Paris"}'


@pytest.mark.parametrize(
    ("prompt", "roles", "question"),
    [
        (LLAMA, ["system", "user"], "Where?"),
        ("user\n\nWhere?assistant\n\n", ["user"], "Where?"),
        ("user\n\nWhere?assistant", ["user"], "Where?"),
        ("user\n\nHi\nassistant\n\n", ["user"], "Hi"),
        ("system\n\nBe kind.user\n\nHi!assistant\n\nHello.user\n\nWhere?assistant\n\n",
         ["system", "user", "assistant", "user"], "Where?"),
        ("system\n\nBe kinduser\n\nAre you the user\n\nor a superuser\n\nhere?assistant\n\n",
         ["system", "user"], "Are you the user or a superuser here?"),
        ("user\n\nList roles:\n\nuser\n\nsystem\n\nassistant\n\nOne each.assistant\n\n",
         ["user"], "List roles: user system assistant One each."),
        ("user\n\nNothing asks for an answer", ["user"], "user Nothing asks for an answer"),
        ("user\n\nA text about an assistant\n\n", ["user"], "user A text about an assistant"),
        ("A letter of the user\n\nto an assistant\n\n", ["user"], "A letter of the user to an assistant"),
    ],
)  # fmt: skip
def test_role_words_of_llama_are_glued_to_the_turns_before(
    tmp_path: Path, prompt: str, roles: list[str], question: str
) -> None:
    write(tmp_path / "run" / "1.jsonl", ROW | {"input": prompt})
    (sample,) = samples(only_run(tmp_path / "run"))
    turns = [turn for turn in sample.turns if turn.origin != "response"]
    assert [turn.role for turn in turns] == roles
    assert "".join(map(verbatim, turns)) == prompt
    assert preview(prompt) == question


@pytest.mark.parametrize(
    ("prompt", "answer", "roles"),
    [
        (LLAMA, f"I look.ipython\n\n{ITS_RESULT}assistant\n\nParis.", ["assistant", "tool", "assistant"]),
        (LLAMA, f"I look.ipython\n\n{ITS_RESULT}", ["assistant", "tool"]),
        (LLAMA, f"{CALL}user\n\n{RESULT}assistant\n\nA.user\n\nSure?assistant\n\nYes.",
         ["assistant", "tool", "assistant", "user", "assistant"]),
        (LLAMA, "Log in as superuser\n\nand ask the assistant\n\nfor more.", ["assistant"]),
        (LLAMA, "Roles:\n\nuser\n\nasks.\n\nassistant\n\nanswers.", ["assistant"]),
        ("Where?", f"I look.ipython\n\n{ITS_RESULT}assistant\n\nParis.", ["assistant"]),
    ],
)  # fmt: skip
def test_role_words_of_llama_begin_turns_within_a_response(
    tmp_path: Path, prompt: str, answer: str, roles: list[str]
) -> None:
    answered(tmp_path, prompt, answer, roles)


@pytest.mark.parametrize("folder", ["validation_data", "val", "test rollouts"])
def test_a_validation_folder_is_a_part_of_the_run_beside_it(tmp_path: Path, folder: str) -> None:
    train = tmp_path / "outputs" / "2026-11-24" / "my rollouts" / "train"
    write(train / "12.jsonl", ROW | {"step": 12})
    write(train.parent / folder / "0.jsonl", ROW | {"step": 0})
    run = only_run(tmp_path)
    word = {"validation_data": "validation", "val": "val", "test rollouts": "test"}[folder]
    assert (run.root, run.name) == (str(train), "my rollouts")
    assert {(row.split, row.step) for row in rows(run)} == {("train", 12), (f"eval/{word}", 0)}
    assert [row.split for row in rows(only_run(train.parent / folder))] == [f"eval/{word}"]


def test_validation_folders_of_many_runs_find_theirs_without_asking_all_others() -> None:
    kinds = (("rollouts", None), ("val", "eval/val"))
    runs = [
        RunInfo(name=name, root=f"/runs/{n}/{name}", format="verl", reason="", parts=(RunPart(f"/{n}/{name}", split),))
        for n in range(300)
        for name, split in kinds
    ]
    began_s = time.process_time()
    joined = by_name("verl").joined(runs)
    assert [(run.root, len(run.parts)) for run in joined] == [(f"/runs/{n}/rollouts", 2) for n in range(300)]
    assert time.process_time() - began_s < 1


@pytest.mark.parametrize("folder", ["generated_samples", "rollout results", "test_generations", "train-dumps", "exp8"])
def test_the_folder_that_names_a_run_is_the_one_whose_trackers_count(tmp_path: Path, folder: str) -> None:
    path = write(tmp_path / "exp7" / folder / "1.jsonl", ROW | {"step": 1}).parent
    assert only_run(path).name == Path(home_of(str(path))).name == ("exp8" if folder == "exp8" else "exp7")


def test_train_and_validation_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    asked = ROW | {"input": "held out"}
    for step, row in ((0, asked), (1, ROW), (2, asked), (3, ROW)):
        write(tmp_path / "run" / f"{step}.jsonl", row | {"step": step})
    run = only_run(tmp_path / "run")
    assert "written into this one folder" in run.reason
    assert [(row.step, row.split) for row in rows(run)] == [
        (0, "eval/validation"), (1, "train"), (2, "eval/validation"), (3, "train"),
    ]  # fmt: skip


def test_texts_that_verl_made_of_numbers_are_rewards_and_columns_of_forks_cost_nothing(tmp_path: Path) -> None:
    values = [
        "0.5",
        "nan",
        "tensor(0.25)",
        "tensor(1., device='cuda:0')",
        "np.float32(2.0)",
        "none of them",
        None,
        [3],
    ]
    lines = [ROW | {"score": value, "acc": True, "prompt": 3, "messages": "x", "steps": [1]} for value in values]
    write(tmp_path / "run" / "1.jsonl", *lines, {"input": "q", "output": "a", "score": 0})
    found = rows(only_run(tmp_path / "run"))
    assert [str(row.reward) for row in found] == ["0.5", "nan", "0.25", "1.0", "2.0", "None", "None", "3.0", "0.0"]
    assert found[0].metrics == {"acc": 1.0, "prompt": 3.0} and found[0].tags == {"messages": "x"}
    assert samples(only_run(tmp_path / "run"))[0].extra == {"steps": [1]}


def test_compressed_files_and_files_in_the_making_are_read(tmp_path: Path) -> None:
    data = (DATA / "verl" / "1.jsonl").read_bytes()
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "2.jsonl").write_bytes(data[:1500])
    run = only_run(tmp_path)
    reader = by_name(run.format)
    found = [list(reader.scan(run, source, 0, 2**62)) for source in reader.sources(run)]
    assert [len(one) for one in found] == [16, data[:1500].count(b"\n") + 1]


def test_the_configuration_gives_the_rule_of_the_update(tmp_path: Path) -> None:
    write(tmp_path / "rollouts" / "1.jsonl", ROW)
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "config.yaml").write_text(
        "actor_rollout_ref:\n  actor:\n    clip_ratio: 0.2\n    clip_ratio_low: 0.2  # of DAPO\n"
        "    clip_ratio_high: 0.28\n    clip_ratio_c: 10.0\n    loss_agg_mode: token-mean\n"
        "    use_kl_loss: true\n    kl_loss_coef: 1e-3\n    policy_loss:\n      loss_mode: 'vanilla'\n"
        "  tags:\n  - x: 1\ntrainer:\n  default_local_dir: null\n"
    )
    run = only_run(tmp_path)
    loss = by_name("verl").loss(run)
    assert loss is not None
    assert (loss.rule, loss.aggregation, loss.kl_weight) == ("dapo", "token_mean", 0.001)
    assert loss.thresholds == {"low": 0.2, "high": 0.28, "dual": 10.0}


def test_ids_and_bookmarks_of_generic_open_the_same_samples(tmp_path: Path) -> None:
    run = shutil.copytree(DATA / "verl_v1", tmp_path / "run")
    with rolloupe.open(run, format="generic", index_dir=tmp_path / "a") as before:
        old = {sample.id: before[0].texts(sample.id).response for sample in before[0].samples()}
    with rolloupe.open(run, index_dir=tmp_path / "b") as after:
        assert after[0].format == "verl"
        assert {name: after[0].texts(name).response for name in old} == old


def test_rows_of_other_frameworks_are_not_taken(tmp_path: Path) -> None:
    write(tmp_path / "a" / "notes.jsonl", {"input": "q", "output": "a", "score": 1})
    write(tmp_path / "b" / "1.jsonl", {"prompt": "q", "output": "a", "score": 1})
    assert {run.format for run in discover([tmp_path]).runs} == {"generic"}


def test_group_by_takes_any_column_for_the_group(tmp_path: Path) -> None:
    asked = [ROW | {"task": {"name": name}, "acc": acc} for name, acc in (("x", 1), ("y", 1), ("x", 0), (None, 0))]
    write(tmp_path / "run" / "1.jsonl", *asked)
    for key, sizes in (("task.name", [1, 1, 2]), ("acc", [2, 2]), ("no such key", [4]), ("", [4])):
        (run,) = discover([tmp_path / "run"], Reading(group_by=key)).runs
        assert sorted(Counter(row.group for row in rows(run)).values()) == sizes
        with rolloupe.open(tmp_path / "run", group_by=key, index_dir=tmp_path / "index") as runs:
            assert len({sample.group for sample in runs[0].samples()}) == len(sizes)
