"""Runs of any layout in that of the cookbook: what its reader reads back, and what is said to be left out."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats import discover
from rolloupe.formats.tinker.format import Tinker
from rolloupe.model import (
    Locator,
    MetricRow,
    Part,
    RunInfo,
    Sample,
    SampleKey,
    SampleRow,
    TokenSeries,
    ToolCall,
    Turn,
)
from rolloupe.record.writers import Writer
from rolloupe.record.writers.tinker import Layout
from rolloupe.record.writers.tinker.writer import TinkerWriter
from rolloupe.text import clean
from tests.formats.support import numbers, only_run, samples, texts, values

DATA = Path(__file__).parents[2] / "data"
RUNS = [
    "tinker/flat_run",
    "tinker/quirks",
    "generic/verl",
    "verifiers",
    "prime_rl/exports/v4_pr2641",
]

reader = Tinker()


def convert(some: list[Sample], folder: Path, **options: Any) -> dict[str, int]:
    """Write samples as a caller does: step by step, those of a group side by side."""
    writer = TinkerWriter(folder, **options)
    as_writer: Writer = writer
    steps: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for sample in some:
        steps[sample.key.split, sample.key.step].append(sample)
    left: dict[str, int] = defaultdict(int)
    for (split, step), held in steps.items():
        for what, number in as_writer.write(split, step, sorted(held, key=lambda one: one.key.group)).items():
            left[what] += number
    as_writer.close()
    return dict(left)


def said(sample: Sample) -> list[tuple[str, str]]:
    """Who says what, as one text each, calls by name and arguments."""
    return [(turn.role.lower(), "".join(map(_said, turn.parts))) for turn in sample.turns]


def _said(part: Part) -> str:
    if part.raw is not None:
        return part.raw
    return f"{part.call.name}{part.call.arguments}" if part.call else part.text


def fits(before: Sample, after: Sample) -> None:
    """What must be the same, whatever the layout was."""
    assert str(before.row.reward) == str(after.row.reward)
    assert before.row.status in (after.row.status, "unknown")
    assert before.row.env == after.row.env
    for name, value in before.row.metrics.items():
        assert str(after.row.metrics[name]) == str(value) or after.row.metrics[name] == pytest.approx(value), name
    assert said(before) == said(after)


def runs(path: Path) -> list[RunInfo]:
    return discover([path]).runs


@pytest.mark.parametrize("name", RUNS)
def test_samples_of_other_layouts_are_read_back(name: str, tmp_path: Path) -> None:
    run = runs(DATA / name)[0]
    before = samples(run)
    left = convert(before, tmp_path / "out")
    after = samples(only_run(tmp_path / "out"))
    assert len(before) == len(after) > 0
    by_rank = {(sample.key.split, sample.key.step, sample.key.group, sample.key.index): sample for sample in after}
    for sample in before:
        place = sample.key.split, sample.key.step, sample.key.group, sample.key.index
        assert place in by_rank or not name.startswith("tinker")
        if place in by_rank and not {"group", "sample number"} & left.keys():
            fits(sample, by_rank[place])
    assert sorted(str(one.row.reward) for one in before) == sorted(str(one.row.reward) for one in after)
    assert sorted(map(said, before)) == sorted(map(said, after))


def test_what_the_layout_cannot_hold_is_said(demo_runs: Path, tmp_path: Path) -> None:
    (run,) = [one for one in runs(demo_runs / "other_formats/rl_logging_board") if one.name == "gen_train_toy"]
    before = samples(run)
    left = convert(before, tmp_path / "out")
    names = {one.name for sample in before for one in sample.series}
    assert left["token strings"] == left["group"] == 48
    assert {name: left[f"token series {name}"] for name in names} == dict.fromkeys(names, 48)
    assert len({(one.key.step, one.key.group) for one in samples(only_run(tmp_path / "out"))}) == len(
        {(one.key.step, one.key.group) for one in before}
    )


def one(**more: Any) -> Sample:
    key = SampleKey("train", 1, "0", "0")
    row = SampleRow(split="train", step=1, group="0", index="0", ordinal=0, start=0, length=0)
    held: dict[str, Any] = {"turns": [], **more.pop("sample", {})}
    for name, value in more.items():
        setattr(row, name, value)
    return Sample(key=key, row=row, locator=Locator(source="x", start=0, length=0), **held)


def read(sample: Sample, folder: Path) -> Sample:
    convert([sample], folder)
    (found,) = samples(only_run(folder))
    return found


def turn(role: str, *parts: Part, response: bool = True, **more: Any) -> Turn:
    return Turn(role=role, parts=list(parts), origin="response" if response else "prompt", **more)


def test_turns_calls_and_thinking_are_read_back_as_they_were(tmp_path: Path) -> None:
    call = ToolCall(name="f", arguments='{"a": 1}', id="c1")
    turns = [
        turn("user", Part(kind="text", text="Do it"), response=False),
        turn("assistant", Part(kind="text", text="an example"), response=False),
        turn("user", Part(kind="text", text="Again"), response=False),
        turn("assistant", Part(kind="think", text="hm"), Part(kind="text", text="Calling"),
             Part(kind="tool_call", text="", call=call), tokens=5, reward=0.25, metrics={"ob_len": 9.0, "m": 1.0}),
        turn("tool", Part(kind="text", text="42"), tool_call_id="c1", name="f"),
        turn("assistant", Part(kind="think", text="so", raw="<think>so</think>"), Part(kind="text", text="It is 42"),
             tokens=7, reward=0.5, metrics={"ob_len": 30.0, "m": 3.0}, logs={"why": {"x": 1}}),
    ]  # fmt: skip
    row = {"reward": 1.0, "metrics": {"m": 2.0, "length": 3.0}, "status": "truncated", "status_raw": "max_turns"}
    tags = {"env": "calc", "tags": {"level": "hard"}, "uid": "u7", "discarded": "stale", "advantage": -0.5}
    after = read(one(sample={"turns": turns, "label": "42", "extra": {"seed": 7}}, **row, **tags), tmp_path)
    assert said(one(sample={"turns": turns})) == said(after)
    assert [found.origin for found in after.turns] == ["prompt"] * 3 + ["response"] * 3
    assert [[part.kind for part in found.parts] for found in after.turns[3:]] == [
        ["think", "text", "tool_call"], ["text"], ["think", "text"],
    ]  # fmt: skip
    assert [(found.tokens, found.reward) for found in after.turns if found.tokens] == [(5, 0.25), (7, 0.5)]
    assert after.turns[3].metrics == {"ob_len": 9.0, "m": 1.0} and after.turns[5].logs == {"why": {"x": 1}}
    assert after.turns[4].tool_call_id == "c1"
    found = after.row
    assert (found.prompt_tokens, found.response_tokens, found.total_tokens) == (9, 12, 37)
    assert (found.status, found.status_raw, found.env) == ("truncated", "max_turns", "calc")
    assert found.discarded == "stale"
    assert (found.tags, found.uid, found.advantage, after.label) == ({"level": "hard"}, "u7", -0.5, "42")
    assert found.metrics == {"m": 2.0, "length": 3.0, "final_reward": 0.25}
    assert after.extra == {"seed": 7, "schema_version": 1, "final_ob_len": 0}


@pytest.mark.parametrize(
    ("env", "tags", "listed"),
    [
        ("", {"bench": "toy, 2", "a=b": "c"}, ["bench=toy, 2", "a=b=c"]), ("calc", {"a": "b"}, ["calc", "a=b"]),
        ("calc", {}, ["calc"]), ("", {}, []), ("a", {"tags": "a, b"}, ["a", "b"]),
        ("", {"tags": "a, b"}, ["tags=a, b"]),
    ],
)  # fmt: skip
def test_environment_and_tags_are_read_back_as_they_were(
    tmp_path: Path, env: str, tags: dict[str, str], listed: list[str]
) -> None:
    after = read(one(env=env, tags=tags), tmp_path)
    assert (after.row.env, after.row.tags) == (env, tags if tags or not env else {"tags": env})
    (line,) = [json.loads(line) for path in tmp_path.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert line["tags"] == listed
    again = read(after, tmp_path / "again")
    assert (again.row.env, again.row.tags) == (after.row.env, after.row.tags)


def test_a_field_that_is_called_as_what_has_a_place_of_its_own_is_said_to_be_lost(tmp_path: Path) -> None:
    extra = {"label": "other", "uid": "mine", "seed": 1}
    assert convert([one(sample={"label": "42", "extra": extra}, uid="mine")], tmp_path)["field label"] == 1
    (found,) = samples(only_run(tmp_path))
    assert (found.label, found.row.uid, found.extra["seed"]) == ("42", "mine", 1)


@pytest.mark.parametrize(
    ("status", "raw"),
    [("completed", "eos"), ("truncated", "length"), ("aborted", "odd word"), ("error", ""), ("unknown", "odd")],
)
def test_a_status_is_read_back(tmp_path: Path, status: Any, raw: str) -> None:
    found = read(one(status=status, status_raw=raw), tmp_path)
    assert found.row.status == status
    assert not raw or raw in (found.row.status_raw, found.extra.get("stop_reason"))


@pytest.mark.parametrize("layout", ["flat", "folders"])
def test_the_first_groups_are_in_an_outline_by_group_and_trajectory(tmp_path: Path, layout: Layout) -> None:
    some = []
    for group in range(3):
        for index in range(2):
            made = one(sample={"turns": [turn("assistant", Part(kind="text", text=f"{group}.{index}"))]})
            made.key = SampleKey("eval/a b", 4, str(group), str(index))
            some.append(made)
    convert(some, tmp_path, layout=layout, num_groups_to_log=2)
    root = reader.logtree(only_run(tmp_path), "eval/a_b", 4)
    assert root is not None
    assert [child.attrs["data-group"] for child in root.children] == ["0", "1"]
    assert len(samples(only_run(tmp_path))) == 6


def test_metrics_are_rows(tmp_path: Path) -> None:
    writer = TinkerWriter(tmp_path)
    writer.log.config({})
    some = [MetricRow(step=1, values={"a": 1.0, "b": math.inf}), MetricRow(step=None, values={"c": 2.0}, time_s=3.0)]
    assert writer.metrics(some) == {}
    assert writer.metrics([MetricRow(step=2, values={}, time_s=4.0)]) == {"times of metric rows": 1}
    first, second, loose = reader.metrics(only_run(tmp_path))
    assert (first.values, second.step, loose.time_s, loose.values["c"]) == ({"a": 1.0, "b": math.inf}, 2, 3.0, 2.0)


def test_a_source_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    convert([one(reward=1.0)], tmp_path)

    def broken() -> Any:
        yield one(reward=2.0)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        TinkerWriter(tmp_path).write("train", 1, broken())
    (found,) = samples(only_run(tmp_path))
    assert found.row.reward == 1.0
    assert not list(tmp_path.glob("*.tmp")) and not list(tmp_path.glob(".*"))


parts = st.builds(
    lambda kind, text, raw, call: Part(
        kind=kind, text=text, raw=raw, call=ToolCall(name=text, arguments=text) if call else None
    ),
    st.sampled_from(["text", "think", "tool_call", "tool_result", "answer", "image", "json", "marker"]),
    texts, st.none() | texts, st.booleans(),
)  # fmt: skip
turns = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool", "system"]) | texts,
    parts=st.lists(parts, max_size=3),
    origin=st.sampled_from(["prompt", "response"]),
    tokens=st.none() | st.integers(0, 99),
    reward=st.none() | st.floats(),
    metrics=st.dictionaries(texts, st.floats(), max_size=3),
    logs=st.dictionaries(texts, values, max_size=3),
)


@given(
    st.lists(turns, max_size=5), st.none() | st.floats(), st.dictionaries(texts, st.floats(), max_size=3),
    st.dictionaries(texts, values, max_size=3), st.dictionaries(texts, texts, max_size=2), texts, texts, numbers,
)  # fmt: skip
def test_whatever_a_sample_holds_it_is_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, some: Any, reward: Any, metrics: Any, extra: Any, tags: Any, group: str,
    split: str, step: Any,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("any")
    made = one(
        sample={"turns": some, "extra": extra, "series": [TokenSeries(name="logprobs", values=[1.0])]},
        reward=reward, metrics=metrics, tags=tags,
    )  # fmt: skip
    made.key = SampleKey(split, 3, group, "x")
    assert convert([made], folder)["token series logprobs"] == 1
    (found,) = samples(only_run(folder))
    assert str(found.row.reward) == str(reward)
    spoken = [role for role, _ in said(found)]
    assert spoken == [clean(one.role).lower() or "unknown" for one in some]
    for name, value in metrics.items():
        held = {clean(key): number for key, number in found.row.metrics.items()}
        assert name in ("final_reward", "sampling_client_step") or str(held[clean(name)]) == str(value)
