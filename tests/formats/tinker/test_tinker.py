"""The files of the Tinker cookbook: three layouts, and what lies beside the samples."""

import gzip
import json
import math
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats import by_name, discover
from rolloupe.formats.tinker.format import Tinker
from rolloupe.index import Library
from rolloupe.model import LogNode, Problem, SampleKey
from rolloupe.query import sample
from rolloupe.server.routes.runs import report_node
from rolloupe.wire import to_wire
from tests.formats.support import as_line, items, only_run, rows, samples, texts, values

DATA = Path(__file__).parents[2] / "data/tinker"
EXPECTED = json.loads((DATA / "EXPECTED.json").read_text())
TOTAL = "env/all/reward/total"


@pytest.fixture
def tinker() -> Tinker:
    one = by_name("tinker")
    assert isinstance(one, Tinker)
    return one


@pytest.mark.parametrize("run", [run for run in EXPECTED if EXPECTED[run]["rollout_files"]])
def test_every_file_of_rollouts_is_what_was_written(run: str, tinker: Tinker) -> None:
    info = only_run(DATA / run)
    of_run = rows(info)
    metrics = {row.step: row.values for row in tinker.metrics(info)}
    for name, expected in EXPECTED[run]["rollout_files"].items():
        (source,) = [one for one in tinker.sources(info) if one.name == name]
        found = [row for row in of_run if (row.split, row.step) == (source.split, source.step)]
        assert (source.split, source.step) == (expected["split"], expected["iteration"]), name
        assert len(found) == expected["trajectories"], name
        assert len({row.group for row in found}) == expected["groups"], name
        assert sum(row.turns for row in found) == expected["turns"], name
        mean = sum(row.reward or 0.0 for row in found) / len(found)
        assert mean == pytest.approx(expected["mean_total_reward"], abs=1e-12), name
        (logged,) = [value for key, value in metrics[source.step].items() if split_of(key) == source.split]
        assert logged == pytest.approx(mean, abs=1e-9), name


def split_of(key: str) -> str | None:
    """The split whose mean reward a metric holds: metrics and files name evaluators differently."""
    name = key.removesuffix(TOTAL)
    if key == TOTAL or name == key:
        return "train" if key == TOTAL else None
    return "eval/" + re.sub(r"[^A-Za-z0-9_.-]+", "_", name.rstrip("/")).strip("._")


@pytest.mark.parametrize("run", list(EXPECTED))
def test_a_run_has_all_its_files_and_no_problem(run: str, tinker: Tinker) -> None:
    info = only_run(DATA / run)
    assert {source.name for source in tinker.sources(info)} == set(EXPECTED[run]["rollout_files"])
    assert len(samples(info)) == sum(file["trajectories"] for file in EXPECTED[run]["rollout_files"].values())
    assert {row.step for row in tinker.metrics(info)} == set(EXPECTED[run]["metrics_steps"])
    assert [point.name for point in tinker.checkpoints(info)] == EXPECTED[run]["checkpoints"]


def test_rows_of_one_step_are_merged_the_last_value_counting(tinker: Tinker, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    lines = [
        '{"step": 1, "a": 1, "b": 2}', '{"step": 0, "a": 0, "on": true, "name": "x"}', '{"tokens/total": 5}',
        '{"step": 1, "a": NaN, "c": -Infinity}', "not JSON", '{"step": 1e300, "a": 3}', '{"step": 2, "a": 1',
    ]  # fmt: skip
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    found = tinker.metrics(only_run(tmp_path))
    assert [row.step for row in found] == [0, 1, None]
    assert found[0].values == {"a": 0.0, "on": 1.0}
    assert found[1].values["b"] == 2.0 and math.isnan(found[1].values["a"]) and found[1].values["c"] == -math.inf
    assert found[2].values == {"tokens/total": 5.0}


def test_what_lies_beside_the_samples(tinker: Tinker) -> None:
    info = only_run(DATA / "flat_run")
    assert tinker.config(info)["num_groups_to_log"] == 4
    assert tinker.code_diff(info).startswith("### repo:")
    last = tinker.checkpoints(info)[-1]
    assert last.name == "final" and last.paths["state_path"].startswith("tinker://") and "state_path" not in last.extra
    what = {file.name: file.what for file in tinker.files(info)}
    assert what["metrics.jsonl"] == "metrics" and "train_iteration_000000_rollout_summaries.jsonl" in what
    assert tinker.config(only_run(DATA / "sync_run"))["loss_fn"]


def test_a_run_of_metrics_alone_is_a_run(tinker: Tinker) -> None:
    info = only_run(DATA / "public_real")
    assert (info.format, tinker.sources(info)) == ("tinker", [])
    metrics = tinker.metrics(info)
    assert (len(metrics), metrics[0].values[TOTAL]) == (100, 0.67625)
    assert len(tinker.checkpoints(info)) == 6
    assert tinker.logtrees(info) == [] and tinker.code_diff(info) == ""


def nodes(node: LogNode) -> list[LogNode]:
    return [node, *(below for child in node.children for below in nodes(child))]


def test_an_outline_is_text_tables_and_conversations(tinker: Tinker) -> None:
    info = only_run(DATA / "flat_run")
    assert ("eval/1", 0) in tinker.logtrees(info)
    root = tinker.logtree(info, "eval/test", 0)
    assert root is not None
    expected = EXPECTED["flat_run"]["logtree_files"]["eval_test_iteration_000000_logtree.json"]
    found = nodes(root)
    talks = [node for node in found if node.kind == "conversation"]
    assert root.title == expected["title"]
    assert (len(talks), sum(len(talk.turns) for talk in talks)) == (expected["conversations"], expected["messages"])
    assert len([child for child in root.children if child.kind == "section"]) == expected["top_level_sections"]
    table = next(node for node in found if node.kind == "table")
    assert (table.title, table.header) == ("Reward components", ["key", "value"])
    assert tinker.logtree(info, "train", 99) is None
    assert tinker.conversations(info, "train", 99) == []


def test_the_pieces_of_an_outline_keep_what_they_were_logged_as(tinker: Tinker, tmp_path: Path) -> None:
    inner = {"tag": "p", "attrs": {"data-x": "1", "style": "color: red"}, "children": ["hi"]}
    heading = {"tag": "h2", "attrs": {"id": "top"}, "children": ["Title"]}
    tree = {
        "title": "T", "started_at": "2026-11-20T10:00:00", "path": "/logs/" + "x" * 5000,
        "root": {"tag": "body", "attrs": {"data-run": "a"}, "children": [heading, inner, "bare"]},
    }  # fmt: skip
    (tmp_path / "train_iteration_000000_logtree.json").write_text(json.dumps(tree))
    root = tinker.logtree(only_run(tmp_path), "train", 0)
    assert root is not None
    assert (root.tag, root.attrs["data-run"], root.attrs["started_at"]) == ("body", "a", "2026-11-20T10:00:00")
    assert root.attrs["path"].startswith("/logs/x") and len(root.attrs["path"]) < 5000
    assert [(one.tag, one.attrs) for one in root.children] == [("h2", {"id": "top"}), ("p", {"data-x": "1"}), ("", {})]
    shown = report_node(root)
    assert (shown.tag, shown.children[1].tag) == ("body", "p")


def test_where_there_is_only_html_the_outline_is_read_from_it(tinker: Tinker, tmp_path: Path) -> None:
    page = (DATA / "flat_run/eval_test_iteration_000000.html").read_text()
    (tmp_path / "eval_test_iteration_000000.html").write_text(page)
    info = only_run(tmp_path)
    assert tinker.sources(info) == []
    root, same = tinker.logtree(info, "eval/test", 0), tinker.logtree(only_run(DATA / "flat_run"), "eval/test", 0)
    assert root is not None and same is not None
    assert [n.title for n in nodes(root) if n.kind == "section"] == [
        n.title for n in nodes(same) if n.kind == "section"
    ]
    assert [n.rows for n in nodes(root) if n.kind == "table"] == [n.rows for n in nodes(same) if n.kind == "table"]
    assert "<" not in "".join(n.text for n in nodes(root))


def test_a_page_that_exercises_every_call(tinker: Tinker, tmp_path: Path) -> None:
    (tmp_path / "train_iteration_000000_logtree.json").write_bytes(
        (DATA / "quirks/logtree_demo_logtree.json").read_bytes()
    )
    root = tinker.logtree(only_run(tmp_path), "train", 0)
    assert root is not None
    kinds = {node.kind for node in nodes(root)}
    assert {"section", "text", "table", "details", "conversation"} <= kinds
    (tmp_path / "train_iteration_000001.html").write_bytes((DATA / "quirks/logtree_demo.html").read_bytes())
    assert tinker.logtree(only_run(tmp_path), "train", 1) is not None


@pytest.mark.parametrize(
    "tree",
    [
        None, 3, {"root": 1}, {"root": {}}, {"root": {"tag": 1, "attrs": [], "children": "x"}},
        {"root": {"tag": "div", "attrs": {"a": [1]}, "children": [None, 3, "<b>bold</b> &lt;i&gt;", {"tag": None}]}},
        {"root": {"tag": "div", "children": [], "data": {"type": "conversation", "messages": [None, 3, {"role": 1}]}}},
    ],
)  # fmt: skip
def test_an_outline_that_is_none_does_no_harm(tinker: Tinker, tmp_path: Path, tree: Any) -> None:
    (tmp_path / "train_iteration_000000_logtree.json").write_text(json.dumps(tree))
    root = tinker.logtree(only_run(tmp_path), "train", 0)
    assert root is None or root.kind == "root"


def test_a_deep_or_a_huge_outline_is_cut(tinker: Tinker, tmp_path: Path) -> None:
    place = tmp_path / "train_iteration_000000_logtree.json"
    place.write_text('{"root": ' + '{"tag": "div", "children": [' * 5000 + '"x"' + "]}" * 5000 + "}")
    root = tinker.logtree(only_run(tmp_path), "train", 0)
    assert root is None or any("too deep" in node.text for node in nodes(root))
    (tmp_path / "train_iteration_000001.html").write_text("<body>" + "<div>" * 100_000 + "x <script>y</script>")
    assert tinker.logtree(only_run(tmp_path), "train", 1) is not None


def record(**more: Any) -> dict[str, Any]:
    return {
        "schema_version": 1, "split": "train", "iteration": 1, "group_idx": 0, "traj_idx": 0, "tags": ["a", "b"],
        "sampling_client_step": 3, "total_reward": 1, "final_reward": True, "trajectory_metrics": {"x": 2},
        "steps": [
            {"step_idx": 0, "ob_len": 10, "ac_len": 5, "reward": 0.5, "episode_done": False, "metrics": {"m": 1},
             "logs": {"tool_result_1": "two", "tool_call_10": "late({})", "tool_call_1": 'f({"a": 1})',
                      "assistant_content": "<think>hm</think>Go", "tool_result_0": "one", "note": {"n": 1}}},
            {"step_idx": 1, "ob_len": 30, "ac_len": 7, "reward": 0.5, "metrics": {"m": 2, "stop/max_turns": 1.0}},
        ],
        "final_ob_len": 2, **more,
    }  # fmt: skip


def one(folder: Path, *records: dict[str, Any], name: str = "train_iteration_000001_rollout_summaries.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in records))
    return folder


def test_steps_become_turns(tmp_path: Path) -> None:
    (sample,) = samples(only_run(one(tmp_path, record())))
    assert [turn.role for turn in sample.turns] == ["assistant", "tool", "tool", "assistant"]
    first = sample.turns[0]
    assert [part.kind for part in first.parts] == ["think", "text", "tool_call", "tool_call"]
    assert [part.call.name for part in first.parts if part.call] == ["f", "late"]
    assert (first.tokens, first.reward, first.metrics) == (5, 0.5, {"m": 1.0, "ob_len": 10.0})
    assert first.logs == {"note": {"n": 1}}
    assert [turn.parts[0].text for turn in sample.turns[1:3]] == ["one", "two"]
    row = sample.row
    assert (row.prompt_tokens, row.response_tokens, row.turns) == (10, 12, 2)
    assert row.metrics == {"m": 1.5, "stop/max_turns": 1.0, "x": 2.0, "final_reward": 1.0, "sampling_client_step": 3.0}
    assert (row.status, row.status_raw, row.env, row.tags) == ("truncated", "max_turns", "a", {"tags": "a, b"})
    assert "<think>hm</think>Go" in row.response


def test_which_step_it_is_and_whether_it_was_the_last_are_facts_of_the_turn(tmp_path: Path) -> None:
    odd = {"step_idx": "x", "episode_done": 1, "ac_len": 2}
    more = record()["steps"]
    (sample,) = samples(only_run(one(tmp_path, record(steps=[*more, odd]))))
    spoken = [turn for turn in sample.turns if turn.role == "assistant"]
    assert [turn.facts for turn in spoken] == [{"step_idx": 0, "episode_done": "no"}, {"step_idx": 1}, {}]
    assert "step_idx" not in spoken[0].logs and spoken[2].logs["step_idx"] == "x"
    assert to_wire.turn_views(spoken)[0].facts == {"step_idx": 0, "episode_done": "no"}


def test_the_conversation_of_a_later_schema_is_the_transcript(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (sample,) = samples(only_run(one(tmp_path, record(schema_version=3, conversation=talk, status="timeout"))))
    assert [(turn.role, turn.origin) for turn in sample.turns] == [("user", "prompt"), ("assistant", "response")]
    assert (sample.row.prompt, sample.row.response) == ("Hi", "Hello")
    assert (sample.row.status, sample.row.status_raw) == ("error", "timeout")


def test_a_sample_without_text_says_where_to_look(tmp_path: Path) -> None:
    (sample,) = samples(only_run(one(tmp_path, record(steps=[], total_reward=float("nan")))))
    assert sample.turns == [] and sample.notes == ["the trainer logged no text for this sample"]
    assert sample.row.reward is not None and math.isnan(sample.row.reward)
    (tmp_path / "train_iteration_000001.html").write_text("<p>What was logged</p>")
    (sample,) = samples(only_run(tmp_path))
    assert sample.notes[0].endswith("what it logged for the step is in the report")


def test_names_that_mislead(tmp_path: Path, tinker: Tinker) -> None:
    one(tmp_path, record(), name="train_iteration_1234567_rollout_summaries.jsonl")
    one(tmp_path, record(), name="eval_a_iteration_000001_iteration_000002_rollout_summaries.jsonl")
    one(tmp_path / "iteration_000003", record(iteration=3), name="eval_x_rollout_summaries.jsonl")
    one(tmp_path / "iteration_000003", record(iteration=3), name="notes_rollout_summaries.jsonl")
    one(tmp_path / "iteration_x", record(), name="train_rollout_summaries.jsonl")
    run, other = discover([tmp_path]).runs
    assert other.name == "iteration_x"
    found = [(source.split, source.step) for source in tinker.sources(run)]
    assert found == [("eval/a_iteration_000001", 2), (None, 3), ("eval/x", 3), ("train", 1234567)]


def test_of_an_iteration_in_both_layouts_the_folder_s_is_current(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for split, name in (("train", "train"), ("eval/a", "eval_a")):
        flat = record(split=split), record(split=split, traj_idx=1)
        one(folder, *flat, name=f"{name}_iteration_000001_rollout_summaries.jsonl")
        newer = record(split=split, total_reward=9)
        one(folder / "iteration_000001", newer, name=f"{name}_rollout_summaries.jsonl")
    one(folder, record(iteration=2), name="train_iteration_000002_rollout_summaries.jsonl")
    info = only_run(folder)
    assert info.reason.startswith("5 files named {split}_iteration_{step} or iteration_{step}/{split}_rollout")
    assert len(rows(info)) == 7
    with Library([folder], index_dir=tmp_path / "index") as library:
        (run,) = library.runs
        assert run.wait(30)
        for split in ("train", "eval/a"):
            found = [sample(run, SampleKey(split, 1, "0", "0", attempt)).row.reward for attempt in (0, 1, 2)]
            assert found == [9.0, 1.0, 9.0]


def test_a_run_of_metrics_alone_opens_and_then_says_nothing(tmp_path: Path) -> None:
    changes = []
    with Library([DATA / "public_real"], index_dir=tmp_path / "index", follow=True) as library:
        assert library.runs[0].wait_all(30)
        library.subscribe(lambda kind, _: changes.append(kind))
        time.sleep(1)
    assert changes == []


def test_one_file_alone(tmp_path: Path) -> None:
    one(tmp_path, record(split="eval/x"), name="eval_x_iteration_000004_rollout_summaries.jsonl")
    (run,) = discover([tmp_path / "eval_x_iteration_000004_rollout_summaries.jsonl"]).runs
    assert [(row.split, row.step) for row in rows(run)] == [("eval/x", 1)]


def test_values_that_are_not_strict_json(tinker: Tinker) -> None:
    info = next(run for run in discover([DATA / "quirks"]).runs if run.name == "quirks")
    found = rows(info)
    assert [str(row.reward) for row in found] == ["nan", "-inf", "2.0", "0.0"]
    assert [(row.env, row.turns) for row in found[2:]] == [("a/b", 1), ("a/b", 0)]
    assert found[1].metrics["np_bool"] == 1.0 and found[2].status == "completed"
    assert not [item for item in items(info) if isinstance(item, Problem)]
    assert [row.step for row in tinker.metrics(info)] == [0, 1, 99, None]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_prefixed_metrics_are_runs_of_that_name(tmp_path: Path, tinker: Tinker, ending: str) -> None:
    pack = gzip.compress if ending else bytes
    for prefix in ("arithmetic_", "other_"):
        for name in ("metrics.jsonl", "checkpoints.jsonl"):
            data = (DATA / "public_real" / name).read_bytes()
            (tmp_path / f"{prefix}{name}{ending}").write_bytes(pack(data))
    found = discover([tmp_path])
    assert [run.name for run in found.runs] == ["arithmetic", "other"]
    assert found.notes == []
    for run in found.runs:
        assert (len(tinker.metrics(run)), len(tinker.checkpoints(run)), tinker.sources(run)) == (100, 6, [])
        assert [file.what for file in tinker.files(run)] == ["checkpoints", "metrics"]
    alone = only_run(tmp_path / f"other_metrics.jsonl{ending}")
    assert (alone.name, len(tinker.metrics(alone)), tinker.checkpoints(alone)) == ("other", 100, [])


@pytest.mark.parametrize(
    ("beside", "content"),
    [
        ("code.diff", "### module: tinker_cookbook (not in a git repository)\n"),
        ("config.json", "{}"),
        ("checkpoints.jsonl", '{"name": "1", "state_path": "tinker://x/weights/1"}\n'),
    ],
)
def test_metrics_with_any_keys_are_known_by_their_neighbours(tmp_path: Path, beside: str, content: str) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "loss": 1}\n')
    assert only_run(tmp_path).format == "curves"
    (tmp_path / beside).write_text(content)
    assert only_run(tmp_path).reason == "metrics.jsonl of the cookbook, no rollouts so far"


def test_metrics_do_not_hide_samples_of_another_format(tmp_path: Path) -> None:
    shutil.copyfile(DATA / "public_real/metrics.jsonl", tmp_path / "metrics.jsonl")
    (tmp_path / "data.jsonl").write_text('{"prompt": "p", "response": "r", "reward": 1}\n')
    assert only_run(tmp_path).format == "generic"


def test_rollouts_under_other_names_are_known_by_their_keys(tmp_path: Path) -> None:
    one(tmp_path, record(), name="mine.jsonl")
    run = only_run(tmp_path)
    assert (run.format, [(row.split, row.step, row.reward) for row in rows(run)]) == ("tinker", [("train", 1, 1.0)])


@pytest.mark.parametrize("name", list(EXPECTED))
def test_every_file_of_a_run_is_accounted_for(name: str, tinker: Tinker) -> None:
    found = discover([DATA / name])
    assert found.notes == []
    files = {file.name: file for file in tinker.files(found.runs[0])}
    assert set(files) == {
        path.relative_to(DATA / name).as_posix() for path in (DATA / name).rglob("*") if path.is_file()
    }
    assert all(file.what and file.size_bytes for file in files.values())


def test_one_iteration_s_folder_is_a_run(tinker: Tinker) -> None:
    run = only_run(DATA / "sync_run/iteration_000000")
    assert [(source.split, source.step) for source in tinker.sources(run)] == [
        ("eval/guess_number_hard", 0), ("eval/test", 0), ("train", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metrics", "status"),
    [
        ({"stop/tool_stopped": 1.0}, ("completed", "tool_stopped")),
        ({"stop/max_tool_calls": True}, ("truncated", "max_tool_calls")),
        ({"stop/context_overflow": 1, "stop/completed": 0.0}, ("truncated", "context_overflow")),
        ({"stop/parse_error": 1.0}, ("error", "parse_error")),
        ({"stop/rollout_timeout": 1.0}, ("error", "rollout_timeout")),
        ({"stop/odd": 1.0}, ("unknown", "odd")),
        ({"max_turns": 1.0}, ("truncated", "max_turns")),
        ({"correct": 1.0}, ("unknown", "")),
    ],
)
def test_a_status_is_what_the_last_step_says(tmp_path: Path, metrics: dict[str, Any], status: tuple[str, str]) -> None:
    first = {"step_idx": 0, "metrics": {"stop/max_turns": 0.0}}
    (row,) = rows(only_run(one(tmp_path, record(steps=[first, {"step_idx": 1, "metrics": metrics}]))))
    assert (row.status, row.status_raw) == status


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"status": "ok"}, ("truncated", "max_turns")),
        ({"status": "ok", "stop_reason": "length"}, ("truncated", "length")),
        ({"status": "error", "stop_reason": "stop", "error_message": "boom"}, ("error", "error")),
    ],
)
def test_schema_two_says_how_it_ended(tmp_path: Path, more: dict[str, Any], status: tuple[str, str]) -> None:
    (sample,) = samples(only_run(one(tmp_path, record(schema_version=2, **more))))
    assert (sample.row.status, sample.row.status_raw) == status
    assert sample.extra.get("error_message") == more.get("error_message")
    assert more.items() <= (sample.extra | {"status": status[1], "stop_reason": status[1]} | more).items()


def test_answers_of_a_conversation_have_the_numbers_of_their_steps(tmp_path: Path) -> None:
    said = [
        ("user", "2+2?"),
        ("assistant", "4"),
        ("user", "3+3?"),
        ("assistant", "7"),
        ("user", "no"),
        ("assistant", "6"),
    ]
    talk = [{"role": role, "content": content} for role, content in said]
    (sample,) = samples(only_run(one(tmp_path, record(conversation=talk))))
    assert [turn.origin for turn in sample.turns] == ["prompt"] * 3 + ["response"] * 3
    assert [turn.tokens for turn in sample.turns] == [None, None, None, 5, None, 7]
    assert sample.turns[-1].stop_reason == "max_turns"
    (short,) = samples(only_run(one(tmp_path, record(conversation=talk[:2]))))
    assert "fewer answers than there are steps" in short.notes[0]
    assert len(short.extra["steps"]) == 2


def test_what_says_more_than_its_place_stays_with_the_turn(tmp_path: Path) -> None:
    step = {
        "step_idx": 4, "ob_len": "x", "ac_len": -1, "episode_done": False, "seed": 7,
        "metrics": {"m": "high", "n": None},
        "logs": {"question": "Why?", "tool_call_x": "f()", "tool_call_0": "no call", "assistant_content": 3},
    }  # fmt: skip
    (sample,) = samples(only_run(one(tmp_path, record(steps=[step, "odd"], trajectory_metrics={"who": "me"}))))
    assert [(turn.role, turn.origin) for turn in sample.turns] == [("user", "prompt"), ("assistant", "response")]
    assert sample.turns[1].logs == {
        "step_idx": 4, "ob_len": "x", "ac_len": -1, "episode_done": False, "seed": 7, "metrics.m": "high",
        "tool_call_x": "f()", "assistant_content": 3,
    }  # fmt: skip
    (call,) = [part.call for part in sample.turns[1].parts]
    assert call is not None
    assert "not of the form" in call.error
    assert sample.extra["steps"] == ["odd"]
    assert sample.extra["trajectory_metrics"] == {"who": "me"}


STEP_KEYS = ["step_idx", "ob_len", "ac_len", "reward", "episode_done", "metrics", "logs"]
LOG_KEYS = [
    "assistant_content",
    "tool_call_0",
    "tool_call_11",
    "tool_result_0",
    "_conversation",
    "prompt",
    "stop/completed",
]
inner = st.dictionaries(st.sampled_from(LOG_KEYS) | texts, values, max_size=5)
steps = st.lists(st.dictionaries(st.sampled_from(STEP_KEYS), values | inner, max_size=7) | values, max_size=4)


@given(steps, values | inner, values, st.booleans())
def test_whatever_steps_hold_nothing_is_lost_or_breaks(
    tmp_path_factory: pytest.TempPathFactory, some: Any, metrics: Any, talk: Any, ascii: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "train_iteration_000001_rollout_summaries.jsonl"
    held = record(steps=some, trajectory_metrics=metrics, conversation=talk)
    path.write_bytes(as_line(held, ascii) + b"\n")
    (sample,) = samples(only_run(path))
    repr(sample).encode()
    json.dumps([turn.logs for turn in sample.turns], ensure_ascii=False).encode()
    for number in (sample.row.prompt_tokens, sample.row.response_tokens, sample.row.total_tokens, sample.row.turns):
        assert number is None or 0 <= number < 2**63
