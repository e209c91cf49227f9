"""The cookbook's files, written: byte for byte its own, whatever the values are, and read by its reader and ours."""

import dataclasses
import enum
import functools
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.value_parsers import MetricNames
from rolloupe.formats.tinker.format import Tinker
from rolloupe.model import Sample
from rolloupe.record import logtree
from rolloupe.record.writers import tinker
from rolloupe.record.writers.tinker import Layout, label_of
from tests.formats.support import only_run, rows, samples, texts, values

DATA = Path(__file__).parents[2] / "data/tinker"
LINES = sorted(DATA.glob("**/*.jsonl")) + sorted(DATA.glob("**/*.pre_resume_*"))
reader = Tinker()


def log_in(folder: Path, **options: Any) -> tinker.Log:
    return tinker.Log(folder, code=False, **options)


def name_of(path: Path) -> str:
    return path.relative_to(DATA).as_posix()


# Byte for byte


def test_files_of_lines_are_written_as_they_were(tmp_path: Path) -> None:
    for number, path in enumerate(LINES):
        check_lines(path, tmp_path / str(number))


def check_lines(path: Path, folder: Path) -> None:
    """Check that the lines of a file are written as they were."""
    log = log_in(folder)
    records = [parse(line) for line in path.read_bytes().split(b"\n") if line]
    if path.name.endswith("_rollout_summaries.jsonl"):
        log.records("train", 0, records)
        written = log.path("train", 0, "_rollout_summaries.jsonl")
    elif path.name == "checkpoints.jsonl":
        for record in records:
            log.checkpoint(record.pop("name"), **record)
        written = folder / "checkpoints.jsonl"
    else:
        for record in records:
            log.metrics(record.pop("step", None), record)
        written = folder / "metrics.jsonl"
    lone = b"\\ud800" in path.read_bytes()  # reading replaces half a surrogate pair, so that it can be shown
    assert written.read_bytes() == path.read_bytes().replace(b"\\ud800", b"\\ufffd" if lone else b""), path


@pytest.mark.parametrize("path", sorted(DATA.glob("**/config.json")), ids=name_of)
def test_a_configuration_is_written_as_it_was(path: Path, tmp_path: Path) -> None:
    log_in(tmp_path, config=json.loads(path.read_text()))
    assert (tmp_path / "config.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(DATA.glob("**/*_logtree.json")), ids=name_of)
def test_the_json_of_an_outline_is_written_as_it_was(path: Path, tmp_path: Path) -> None:
    log = log_in(tmp_path, layout="folders")
    log.logtree("eval/a b", 3, json.loads(path.read_text()))
    assert (tmp_path / "iteration_000003/eval_a_b_logtree.json").read_bytes() == path.read_bytes()


def test_a_lone_surrogate_is_written_as_the_cookbook_does(tmp_path: Path) -> None:
    path = DATA / "quirks/iteration_000000/train_rollout_summaries.jsonl"
    log = log_in(tmp_path)
    log.records("train", 0, [json.loads(line) for line in path.read_text().splitlines()])
    assert log.path("train", 0, "_rollout_summaries.jsonl").read_bytes() == path.read_bytes()


# Trajectory groups


class Group:
    """What the cookbook's `TrajectoryGroup` has."""

    def __init__(self, *rewards: float, text: str = "4", messages: bool = False, final: Any = 0.0) -> None:
        self.trajectories_G = []
        self.final_rewards_G = [final] * len(rewards)
        self.metrics_G: list[dict[str, Any]] = [{"format": np.bool_(True)} for _ in rewards]
        for number, reward in enumerate(rewards):
            action = SimpleNamespace(tokens=[1, 2, 3], maybe_logprobs=None)
            step = SimpleNamespace(
                ob=SimpleNamespace(length=7), ac=action, reward=reward, episode_done=True,
                metrics={"correct": np.float32(reward)}, logs={"note": (1, "a")},
            )  # fmt: skip
            more = {"messages": said(text, str(number))} if messages else {}
            self.trajectories_G.append(SimpleNamespace(transitions=[step], final_ob=SimpleNamespace(length=0), **more))


def said(question: str, answer: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def test_groups_of_objects_are_the_cookbook_s_records(tmp_path: Path) -> None:
    wrapped = SimpleNamespace(trajectory_group=Group(1, 0.5), tags=["a"], sampling_client_step=2)
    log_in(tmp_path).rollouts("train", 3, [wrapped, Group(2.0, final=True)])
    first, _, third = (tmp_path / "train_iteration_000003_rollout_summaries.jsonl").read_text().splitlines()
    assert first == (
        '{"schema_version": 1, "split": "train", "iteration": 3, "group_idx": 0, "traj_idx": 0, "tags": ["a"], '
        '"sampling_client_step": 2, "total_reward": 1.0, "final_reward": 0.0, "trajectory_metrics": {"format": true}, '
        '"steps": [{"step_idx": 0, "ob_len": 7, "ac_len": 3, "reward": 1, "episode_done": true, '
        '"metrics": {"correct": 1.0}, "logs": {"note": [1, "a"]}}], "final_ob_len": 0}'
    )
    assert '"total_reward": 3.0, "final_reward": true' in third and '"group_idx": 1, "traj_idx": 0' in third
    mean = sum(row.reward or 0.0 for row in rows(only_run(tmp_path))) / 3
    assert mean == pytest.approx((1 + 0.5 + 3) / 3)


def test_the_cookbook_s_own_function_is_there_by_its_name() -> None:
    (record,) = tinker.serialize_rollout_summaries(
        split="eval/x", iteration=1, trajectory_groups_P=[Group(1.0)], taglist_P=[["t"]], sampling_client_steps_P=[4]
    )
    assert (record["split"], record["tags"], record["sampling_client_step"], record["total_reward"]) == (
        "eval/x", ["t"], 4, 1.0,
    )  # fmt: skip


def test_groups_of_dicts_with_messages_and_stop_reasons(tmp_path: Path) -> None:
    step = {"ob": [1, 2], "ac_len": 3, "reward": 1.0, "episode_done": True}
    trajectory = {"steps": [step], "stop_reason": "max_turns", "messages": said("2+2?", "4")}
    log_in(tmp_path).rollouts("eval/a b", 1, [{"trajectories": [trajectory], "tags": ["x"], "group_idx": 7}])
    (sample,) = samples(only_run(tmp_path))
    assert str(sample.key) == "eval/a_b/1/7/0" or sample.key.split == "eval/a_b"
    assert (sample.row.status, sample.row.prompt, sample.row.response) == ("truncated", "2+2?", "4")
    assert (sample.row.prompt_tokens, sample.row.response_tokens, sample.row.env) == (2, 3, "x")


DEEP = json.loads("[" * 400 + "]" * 400)
odd = [np.float32(1.5), np.array([1, 2]), b"x", object(), {1, 2}, 10**5000, 1j, DEEP, {"a/b é \ud800": DEEP}]
dirty = st.one_of(values, st.sampled_from(odd))
dicts = st.dictionaries(texts | st.integers() | st.none() | st.tuples(st.integers()), dirty, max_size=4)
transitions = st.dictionaries(
    st.sampled_from(["ob", "ac", "ob_len", "reward", "episode_done", "metrics", "logs"]), dirty | dicts, max_size=6
)
trajectories = st.fixed_dictionaries(
    {}, optional={"transitions": st.lists(transitions | dirty, max_size=3), "final_ob": dirty, "messages": dirty}
)
groups = st.fixed_dictionaries(
    {"trajectories_G": st.lists(trajectories, max_size=3)},
    optional={
        "final_rewards_G": st.lists(dirty, max_size=3), "metrics_G": st.lists(dicts | dirty, max_size=3),
        "tags": st.lists(texts, max_size=3) | dirty, "sampling_client_step": dirty, "group_idx": dirty,
    },
)  # fmt: skip


@given(st.lists(groups, max_size=3), texts | st.sampled_from(["eval/a/b", "eval/日本", "train", "../x"]))
def test_whatever_groups_hold_each_trajectory_is_a_record(
    tmp_path_factory: pytest.TempPathFactory, some: Any, name: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "dirty"
    log = log_in(folder)
    with log.trace(name, 0):
        log.rollouts(name, 0, some)
    path = log.path(name, 0, "_rollout_summaries.jsonl")
    records = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    assert len(records) == sum(len(group["trajectories_G"]) for group in some)
    assert [list(record)[:6] for record in records] == [
        ["schema_version", "split", "iteration", "group_idx", "traj_idx", "tags"] for _ in records
    ]
    again = log_in(folder / "again")
    again.records(name, 0, records)
    assert again.path(name, 0, "_rollout_summaries.jsonl").read_bytes() == path.read_bytes()
    for suffix in (".html", "_logtree.json"):
        log.path(name, 0, suffix).read_text(encoding="utf-8")


# Metrics, configuration, checkpoints


@given(st.lists(st.tuples(st.none() | st.integers(0, 9), dicts), min_size=1, max_size=5))
def test_metrics_of_any_values_are_rows(tmp_path_factory: pytest.TempPathFactory, some: Any) -> None:
    folder = tmp_path_factory.mktemp("metrics")
    log = log_in(folder, config={})
    for step, row in some:
        log.metrics(step, row)
    path = folder / "metrics.jsonl"
    written = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    assert [row.get("step") for row in written] == [step for step, _ in some]
    found = {row.step: row.values for row in reader.metrics(only_run(folder))}
    names = MetricNames()  # long ones are cut
    for step, row in some:
        numbers = {names[str(key)] for key, value in row.items() if isinstance(value, float) and str(key) != "step"}
        assert step is None or numbers <= set(found[step])


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.metrics(np.int64(3), {"a": np.float32(0.5), "b": np.array([2]), "c": math.nan, "d": [np.int8(1)], "step": 9})  # type: ignore[pyrefly:bad-argument-type]
    assert (tmp_path / "metrics.jsonl").read_text() == (
        '{"step": 3, "a": 0.5, "b": 2, "c": NaN, "d": [1], "metrics/step": 9}\n'
    )


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Builder:
    size: int = 2
    loss: Any = math.sqrt


class Plain:
    def __init__(self) -> None:
        self.rate = 0.1
        self._hidden = 1
        self.me = self


def test_a_configuration_tells_what_ran(tmp_path: Path) -> None:
    config = {
        "fn": log_in, "lambda": lambda x: x, "cls": Plain, "partial": functools.partial(log_in, layout="flat"),
        "builder": Builder(), "enum": Colour.RED, "path": Path("/a"), "np": np.float32(0.5), "array": np.arange(2),
        "set": {2, 1}, "nan": math.nan, "tuple": (1, Plain()), "module": json, "big": np.zeros(5000), 7: b"x",
        "slots": object(), "dtype": np.dtype("int8"), "long": 10**5000,
    }  # fmt: skip
    log_in(tmp_path, config=config)
    text = (tmp_path / "config.json").read_text()
    found = json.loads(text)
    assert "{}" not in text
    assert found["fn"] == "tests.record.writers.test_tinker.log_in" and found["lambda"].endswith("<lambda>")
    assert found["cls"] == "tests.record.writers.test_tinker.Plain"
    assert found["partial"] == {"partial": found["fn"], "args": [], "layout": "flat"}
    assert found["builder"] == {"class": "tests.record.writers.test_tinker.Builder", "size": 2, "loss": "math.sqrt"}
    assert found["tuple"][1] == {"class": found["cls"], "rate": 0.1, "me": found["cls"]}
    assert (found["enum"], found["path"], found["np"], found["array"]) == ("red", "/a", 0.5, [0, 1])
    assert (found["set"], found["module"], found["7"]) == ([1, 2], "json", "b'x'")
    assert found["big"] == "array of float64, shape (5000,)" and found["dtype"] == "int8"
    assert found["long"].startswith("0x")


def test_what_says_its_fields_itself_is_asked(tmp_path: Path) -> None:
    class Config:
        def to_dict(self) -> dict[str, Any]:
            return {"lr": 1, "inner": Builder}

    log_in(tmp_path, config=Config())
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "lr": 1, "inner": "tests.record.writers.test_tinker.Builder",
    }  # fmt: skip


def test_a_structure_that_holds_itself_is_cut(tmp_path: Path) -> None:
    circle: dict[str, Any] = {"deep": json.loads("[" * 500 + "]" * 500)}
    circle["circle"] = circle
    log_in(tmp_path, config=circle).metrics(0, circle)
    found = json.loads((tmp_path / "metrics.jsonl").read_text())
    assert found["circle"]["circle"] == "(holds itself)" and "nested too deeply" in json.dumps(found["deep"])


def test_the_last_checkpoint_is_one_to_go_on_from(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    assert log.last_checkpoint() is None
    log.checkpoint("000002", batch=2, state_path="tinker://a", sampler_path="tinker://b", loop={"seed": np.int64(3)})
    log.checkpoint("000003", batch=3, sampler_path="tinker://c", final=None)
    with (tmp_path / "checkpoints.jsonl").open("a") as file:
        file.write('{"name": "000004", "state_pa')
    again = log_in(tmp_path)
    assert again.last_checkpoint() == {
        "name": "000002", "batch": 2, "state_path": "tinker://a", "sampler_path": "tinker://b", "loop": {"seed": 3},
    }  # fmt: skip
    again.checkpoint("000005", batch=5, state_path="tinker://d")
    found = again.last_checkpoint()
    assert found is not None and found["name"] == "000005"
    again.checkpoint("000006", epoch=0, batch=6)
    assert (tmp_path / "checkpoints.jsonl").read_text().endswith('{"name": "000006", "epoch": 0, "batch": 6}\n')
    again.metrics(0, {})
    assert [point.name for point in reader.checkpoints(only_run(tmp_path))] == ["000002", "000003", "000005", "000006"]


def test_resuming_drops_what_is_trained_again_as_the_cookbook_does(tmp_path: Path) -> None:
    before = (DATA / "sync_run/metrics.jsonl.pre_resume_000002").read_bytes()
    odd = b'{"only": "no step"}\n{"step": 2.5}\n{"step": "7"}\nnot JSON\n\n[3]\n{"step": 9'
    (tmp_path / "metrics.jsonl").write_bytes(before + odd)
    log = log_in(tmp_path)
    steps = [json.loads(line)["step"] for line in before.splitlines()]
    assert log.resume(2) == sum(step >= 2 for step in steps) > 0
    assert (tmp_path / "metrics.jsonl.pre_resume_000002").read_bytes() == before + odd
    kept = b"".join(line for line in before.splitlines(keepends=True) if json.loads(line)["step"] < 2)
    assert (tmp_path / "metrics.jsonl").read_bytes() == kept + odd + b"\n"
    (tmp_path / "metrics.jsonl.pre_resume_000002").unlink()
    assert log.resume(2) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl"]
    assert log_in(tmp_path / "new").resume(0) == 0


def test_a_torn_row_costs_that_row_alone(tmp_path: Path) -> None:
    log = log_in(tmp_path, config={})
    log.metrics(0, {"a": 1})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1, "a"')
    log_in(tmp_path).metrics(2, {"a": 3})
    assert [row.step for row in reader.metrics(only_run(tmp_path))] == [0, 2]


# Names and layouts


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("guess number/hard", "guess_number_hard"), ("gsm8k", "gsm8k"), ("a//b  c", "a_b_c"), ("._x_.", "x"),
        ("日本", "unnamed"), ("é/1.5-b", "1.5-b"), ("", "unnamed"),
    ],
)  # fmt: skip
def test_names_are_made_fit_for_files_as_the_cookbook_does(name: str, label: str) -> None:
    assert label_of(name) == label


def test_names_that_would_share_a_file_do_not(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    for name in ("eval/a/b", "eval/a b", "eval/日本", "eval/中国", "eval/" + "x" * 400, "val"):
        log.rollouts(name, 1_234_567, [Group(1.0)])
    found = {row.split for row in rows(only_run(tmp_path))}
    assert len(found) == 6 and {"eval/a_b", "eval/unnamed", "eval/val"} <= found
    assert (tmp_path / "eval_a_b_iteration_1234567_rollout_summaries.jsonl").is_file()


@pytest.mark.parametrize("layout", ["flat", "folders"])
def test_a_whole_run_is_read_back(tmp_path: Path, layout: Layout) -> None:
    log = log_in(tmp_path, config={"lr": 1e-4}, layout=layout, num_groups_to_log=2)
    for step in range(2):
        with log.trace("train", step):
            groups = [Group(1.0, 0.0, text=f"question {number}", messages=True) for number in range(3)]
            log.rollouts("train", step, groups)
        with log.trace("eval/my test", step):
            log.rollouts("eval/my test", step, [Group(0.5)])
        log.metrics(step, {"env/all/reward/total": 0.5})
    run = only_run(tmp_path)
    assert (run.format, len(rows(run))) == ("tinker", 14)
    assert reader.config(run) == {"lr": 1e-4}
    assert [row.step for row in reader.metrics(run)] == [0, 1]
    assert reader.logtrees(run) == [("train", 0), ("train", 1), ("eval/my_test", 0), ("eval/my_test", 1)]
    root, evaluated = reader.logtree(run, "train", 1), reader.logtree(run, "eval/my_test", 1)
    assert root is not None and evaluated is not None
    assert (root.title, evaluated.title) == ("RL Iteration 1", "Running evaluation my test 1")
    assert [child.attrs["data-group"] for child in root.children] == ["0", "1"]
    assert reader.conversations(run, "train", 1) == []
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    wanted = {"flat": "eval_my_test_iteration_000001.html", "folders": "iteration_000001/eval_my_test.html"}
    assert wanted[layout] in names and not [name for name in names if name.endswith(".tmp")]


def test_without_groups_to_log_there_is_no_outline(tmp_path: Path) -> None:
    log = log_in(tmp_path, num_groups_to_log=0)
    with log.trace("train", 0):
        log.rollouts("train", 0, [Group(1.0)])
    assert [path.name for path in tmp_path.iterdir()] == ["train_iteration_000000_rollout_summaries.jsonl"]


def test_an_iteration_written_again_replaces_the_first(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.rollouts("train", 0, [Group(1.0, 2.0)])
    log.rollouts("train", 0, [Group(3.0)])
    assert [row.reward for row in rows(only_run(tmp_path))] == [3.0]
    log.rollouts("train", 0, [])
    assert log.path("train", 0, "_rollout_summaries.jsonl").read_bytes() == b""


# Conversations of an outline find their trajectories


def shown(sample: Sample) -> list[tuple[str, str]]:
    return [(turn.role, "".join(part.text for part in turn.parts)) for turn in sample.turns]


def test_conversations_logged_by_the_environment_are_shown_with_their_own_rollouts(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    with log.trace("train", 0):
        for group in (1, 0):
            with log.group(group):
                for number in (2, 0, 1):  # as they end, in any order, all with the same numbers
                    with logtree.scope_header("Rollout", trajectory=number):
                        logtree.conversation(said("q", f"{group}.{number}"))
                        logtree.conversation(said("q", "a judge says no"), aside=True)
        log.rollouts("train", 0, [Group(1.0, 1.0, 1.0), Group(1.0, 1.0, 1.0)])
    run = only_run(tmp_path)
    for sample in samples(run):
        assert shown(sample) == [("user", "q"), ("assistant", f"{sample.key.group}.{sample.key.index}")]
        assert sample.turns[1].tokens == 3
    assert [talk.turns[1].parts[0].text for talk in reader.conversations(run, "train", 0)] == ["a judge says no"] * 6


def test_a_group_within_a_trajectory_s_section_is_another_s(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    with log.trace("train", 0):
        with logtree.scope_header("a", group=0, trajectory=0), logtree.scope_header("b", group=1):
            logtree.conversation(said("q", "whose?"))
        log.rollouts("train", 0, [Group(1.0), Group(1.0)])
    run = only_run(tmp_path)
    assert not any("whose?" in text for sample in samples(run) for _, text in shown(sample))
    assert len(reader.conversations(run, "train", 0)) == 1


def test_code_of_the_repository_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tinker.Log(tmp_path / "alone")
    assert (tmp_path / "alone/code.diff").read_text().startswith("### module: ")


def test_an_unknown_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'flat' or 'folders'"):
        log_in(tmp_path, layout="nested")


def test_nothing_heavy_is_loaded_by_writing(tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys; from rolloupe.record import logtree; from rolloupe.record.writers import tinker\n"
        f"log = tinker.Log({str(tmp_path)!r}, code=False)\n"
        "with log.trace('train', 0):\n    log.rollouts('train', 0, [{'trajectories': [{'messages': []}]}])\n"
        "print([name for name in ('numpy', 'pyarrow', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
