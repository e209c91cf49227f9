"""Weights & Biases: tables of TRL, verl, OpenRLHF, NeMo-RL and prime-rl in runs that were kept offline."""

import json
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.trackers.framed_log import CONFIG, HISTORY, ITEM, MAGIC, NESTED_KEY, VALUE
from rolloupe.formats.trackers import table_files
from rolloupe.formats.trackers.samples import samples_of_table
from rolloupe.model import RunInfo
from tests.formats.support import only_run, rows, samples
from tests.formats.trackers.support import means

DATA = Path(__file__).parents[2] / "data/wandb"


def folder_of(name: str) -> Path:
    """The folder of one of the runs."""
    (found,) = DATA.glob(f"*-{name}")
    return found


def table(run: Path, key: str, step: int, columns: list[str], data: list[list[Any]]) -> Path:
    """Write a table as the client does."""
    path = run / "files/media/table" / f"{key}_{step}_0123456789abcdef0123.table.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"columns": columns, "data": data}), encoding="utf-8")
    return path


def test_tables_of_trl() -> None:
    run = only_run(folder_of("trldemo1"))
    assert (run.format, run.name) == ("wandb", "grpo-trl")
    found = rows(run)
    assert {key: (count, groups) for key, (count, groups, _) in means(found).items()} == {
        ("train", step): (8, 2) for step in (1, 2, 3)
    }
    accuracy = {
        step: [row.metrics["reward.accuracy_reward"] for row in found if row.step == step] for step in (1, 2, 3)
    }
    finite = {step: [value for value in values if value == value] for step, values in accuracy.items()}
    assert {step: (len(values), round(sum(values) / len(values), 6)) for step, values in finite.items()} == {
        1: (8, 0.375), 2: (7, 0.642857), 3: (7, 0.928571),
    }  # fmt: skip
    assert found[0].advantage == 1.0 and "without weights" in samples(run)[0].notes[0]
    assert by_name("wandb").config(run)["num_generations"] == 4


def test_the_newest_of_tables_that_repeat_rows_counts() -> None:
    verl = only_run(folder_of("verldemo"))
    assert means(rows(verl)) == {
        ("eval/generations", 0): (4, 1, 0.5), ("eval/generations", 2): (4, 1, 0.75),
        ("eval/generations", 3): (4, 1, 1.0),
    }  # fmt: skip
    assert len(by_name("wandb").sources(verl)) == 1
    found = rows(only_run(folder_of("ordemo01")))
    assert [(row.step, row.reward) for row in found] == [(1, 1.0), (2, 1.0), (3, 1.0), (10, 1.0)]
    assert found[-1].env == "calc_agent"
    prime = rows(only_run(folder_of("primedm1")))
    assert [(row.step, row.group, row.reward) for row in prime] == [
        (1, "arith-0", 1.0), (1, "arith-0", 0.0), (2, "arith-0", 1.0),
        (2, "arith-0", 1.0), (3, "arith-0", 1.0), (3, "arith-0", 1.0),
    ]  # fmt: skip


def test_a_group_belongs_to_its_environment(tmp_path: Path) -> None:
    run = tmp_path / "offline-run-20261122_020830-a"
    said = "<user>q<assistant>a"
    columns = ["step", "env_name", "example_id", "messages", "reward"]
    table(run, "samples", 1, columns, [[1, env, 0, said, 1.0] for env in ("gsm8k", "math", "math")])
    assert [row.group for row in rows(only_run(run))] == ["gsm8k-0", "math-0", "math-0"]


def test_links_to_the_logs_of_the_client_are_no_files_that_somebody_misses(tmp_path: Path) -> None:
    run = tmp_path / "runs/offline-run-20261122_020830-a"
    table(run, "samples", 1, ["prompt", "completion", "r"], [["p", "c", 1.0]])
    for name in ("debug-core.log", "rollouts.jsonl"):
        (tmp_path / name).touch()
        (run / name).symlink_to(tmp_path / name)
    assert [Path(note.path).name for note in discover([tmp_path / "runs"]).notes] == ["rollouts.jsonl"]


def test_a_table_that_only_begins_alike_is_another_one(tmp_path: Path) -> None:
    run = tmp_path / "offline-run-20261122_020830-a"
    columns = ["step", "prompt", "completion", "r"]
    table(run, "completions", 0, columns, [[1, "p", "c", 1.0], [1, "p", "d", 0.0]])
    table(run, "completions", 1, columns, [[1, "p", "c", 1.0], [1, "p", "e", 0.5], [1, "p", "f", 0.5]])
    assert [row.reward for row in rows(only_run(run))] == [1.0, 0.0, 1.0, 0.5, 0.5]
    table(
        run, "completions", 2, columns, [[1, "p", "c", 1.0], [1, "p", "e", 0.5], [1, "p", "f", 0.5], [2, "q", "g", 0]]
    )
    assert [row.reward for row in rows(only_run(run))] == [1.0, 0.0, 1.0, 0.5, 0.5, 0.0]


def test_a_prompt_that_trl_asks_again_later_is_another_group(tmp_path: Path) -> None:
    run = tmp_path / "offline-run-20261122_020830-a"
    table(run, "completions", 0, ["step", "prompt", "completion", "r"], [[1, p, "c", 1.0] for p in "aabba"])
    groups = [row.group for row in rows(only_run(run))]
    assert groups == [groups[0], groups[0], groups[2], groups[2], f"{groups[0]}-2"]


@pytest.mark.parametrize(("weights", "reward"), [(None, 1.5), ([2.0, 1.0], 2.5)])
def test_an_evaluation_follows_its_metrics_and_weights_come_from_the_configuration(
    tmp_path: Path, weights: Any, reward: float
) -> None:
    run = tmp_path / "run-20261122_020830-a"
    path = table(run, "completions", 3, ["prompt", "completion", "a", "b", "gt"], [["p", "c", 1.0, 0.5, "x"]])
    name = path.relative_to(run / "files").as_posix()
    logged: list[dict[str, Any]] = [
        {"train/loss": 0.5, "_step": 1},
        {"eval/loss": 0.5, "_step": 2},
        {"completions/_type": "table-file", "completions/path": name, "train/global_step": 7, "_step": 3},
    ]
    (run / "run-a.wandb").write_bytes(wandb_log({"reward_weights": weights}, logged))
    (row,) = rows(only_run(run))
    assert (row.split, row.step, row.reward, row.tags) == ("eval/eval", 7, reward, {})
    assert samples(only_run(run))[0].notes == []


def test_trls_last_table_counts_once_and_numbers_of_log_extra_are_no_rewards(tmp_path: Path) -> None:
    run = tmp_path / "run-20261122_020830-a"
    columns = ["step", "prompt", "completion", "right", "brief", "n_chars", "advantage"]
    texts = {1: "c", 4: "e", 6: "e"}
    tables = [table(run, "completions", n, columns, [[2, "p", text, 1.0, -0.5, 43, 0.1]]) for n, text in texts.items()]
    logged: list[dict[str, Any]] = [{"train/rewards/right/mean": 1.0, "train/rewards/brief/mean": -0.5, "_step": 0}]
    for n, path in enumerate(tables):
        name = path.relative_to(run / "files").as_posix()
        logged += [{"completions/_type": "table-file", "completions/path": name, "train/global_step": 2}]
        logged += [{"eval/reward" if n == 0 else "train/train_runtime": 0.5}]
    log = run / "run-a.wandb"
    assert [row.reward for row in rows(only_run(run))] == [43.5, 43.5], "nothing tells what the numbers are"
    for weights, reward in ((None, 0.5), ([1.0, 0.5], 0.75)):
        for known in (logged, [one for one in logged if "completions/path" in one or weights is None]):
            log.write_bytes(wandb_log({"reward_weights": weights}, known))
            found = rows(only_run(run))
            assert [row.reward for row in found] == [reward, reward]
            assert found[0].metrics == {"reward.right": 1.0, "reward.brief": -0.5, "n_chars": 43}
    log.write_bytes(wandb_log({}, logged))
    assert [(row.split, row.response) for row in rows(only_run(run))] == [("train", "c"), ("eval/eval", "e")]


def test_other_tables_are_no_samples_and_a_torn_one_is_a_problem(tmp_path: Path) -> None:
    run = tmp_path / "run-20261122_020830-a"
    table(run, "confusion", 0, ["label", "count"], [["cat", 1]])
    assert discover([tmp_path]).runs == []
    path = table(run, "val/generations", 1, ["step", "input", "output", "score"], [[1, "p", "c", 1.0]])
    found = only_run(tmp_path)
    assert [(row.split, row.prompt, row.response) for row in rows(found)] == [("eval/generations", "p", "c")]
    whole = by_name("wandb").sources(found)
    path.write_bytes(path.read_bytes()[:20])
    (problem,) = by_name("wandb").scan(found, whole[0], 0, 2**62)
    assert problem.reason == "it is not a table, or not complete yet" and problem.transient  # type: ignore[pyrefly:missing-attribute]


def test_a_table_without_rows_and_a_torn_one_say_nothing_about_their_key(tmp_path: Path) -> None:
    run = tmp_path / "run-20261122_020830-a"
    columns = ["step", "input", "output", "score"]
    table(run, "val/generations", 0, columns, [])
    table(run, "val/generations", 1, columns, []).write_text('{"columns": ["st', encoding="utf-8")
    assert discover([tmp_path]).runs == []
    table(run, "val/generations", 2, columns, [[2, "p", "c", 1.0]])
    assert [row.step for row in rows(only_run(tmp_path))] == [2]


def test_samples_of_a_table_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def seen(key: str, *about: Any) -> Any:
        made.append(key)
        return samples_of_table(key, *about)

    monkeypatch.setattr(table_files, "samples_of_table", seen)
    run = tmp_path / "run-20261122_020830-a"
    table(run, "completions", 1, ["step", "prompt", "completion", "r"], [[1, "p", f"c{n}", 1.0] for n in range(9)])
    found = only_run(tmp_path)
    assert len(samples(found)) == 9 and len(made) == 2, "once to know what they are, once with their weights"


def test_in_the_folder_of_a_run_with_all_its_splits_it_is_curves(tmp_path: Path) -> None:
    record = {"input": "p", "output": "c", "score": 1.0, "step": 1}
    (tmp_path / "run").mkdir()
    (tmp_path / "run/1.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    shutil.copytree(folder_of("verldemo"), tmp_path / "run/wandb" / folder_of("verldemo").name)
    assert [run.format for run in discover([tmp_path]).runs] == ["verl", "wandb"], "its validations lie nowhere else"
    shutil.rmtree(tmp_path / "run/wandb")
    shutil.copytree(folder_of("trldemo1"), tmp_path / "run/wandb" / folder_of("trldemo1").name)
    found = discover([tmp_path])
    assert [run.format for run in found.runs] == ["verl"]
    assert [note.path for note in found.notes if "has the splits of its samples" in note.reason] == [
        str(tmp_path / "run/wandb" / folder_of("trldemo1").name)
    ]


def test_a_file_of_the_run_leads_to_its_folder(tmp_path: Path) -> None:
    shutil.copytree(folder_of("trldemo1"), tmp_path / folder_of("trldemo1").name)
    (path,) = tmp_path.rglob("*.wandb")
    run: RunInfo = only_run(path)
    assert (run.format, Path(run.root)) == ("wandb", path.parent)


def wandb_log(config: dict[str, Any], logged: list[dict[str, Any]]) -> bytes:
    """The log of a run, shorter than a block."""
    log = bytearray(MAGIC)
    for kind, values in ((CONFIG, config), *((HISTORY, one) for one in logged)):
        items = b"".join(
            message(ITEM, message(NESTED_KEY, key.encode()) + message(VALUE, json.dumps(value).encode()))
            for key, value in values.items()
        )
        record = message(kind, items)
        log += struct.pack("<IHB", zlib.crc32(b"\x01" + record), len(record), 1) + record
    return bytes(log)


def message(field: int, data: bytes) -> bytes:
    """A member of a message of protobuf, of fewer than 16,384 bytes."""
    tag = bytes([field << 3 | 2]) if field < 16 else bytes([field << 3 & 0x7F | 0x82, field >> 4])
    return tag + bytes([len(data) & 0x7F | 0x80, len(data) >> 7]) + data
