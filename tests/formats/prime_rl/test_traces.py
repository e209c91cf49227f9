"""Trace streams of prime-rl: what the sample run holds, how branches become samples, how annotations are folded."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rolloupe
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, discover
from rolloupe.formats.prime_rl import episodes
from rolloupe.formats.prime_rl import traces as prime_rl_traces
from rolloupe.formats.prime_rl.traces import PrimeRLTraces
from rolloupe.formats.reading import trainer_files
from rolloupe.model import Annotation, Locator, Problem, Sample, SampleRow
from tests.formats.support import items, leaves, load, numbers, only_run, rows, samples, texts, values, write
from tests.thoroughness import amount

DATA = Path(__file__).parents[2] / "data/prime_rl"
RUN = DATA / "traces/run_wordle"
STREAM = "monitors/file/traces/stream/00000.jsonl"
NOTED = "monitors/file/traces/annotations"


@pytest.fixture
def prime() -> PrimeRLTraces:
    found = by_name("prime_rl_traces")
    assert isinstance(found, PrimeRLTraces)
    return found


def series(sample: Sample, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    (found,) = [one for one in sample.series if one.name == name]
    return np.array(found.values)


def node(parent: int | None, role: str = "assistant", size: int = 3, **more: Any) -> dict[str, Any]:
    """A message of `size` tokens; the model sampled all but the first of its own."""
    own = role == "assistant"
    return {
        "parent": parent, "sampled": own, "message": {"role": role, "content": f"{role} {parent}"},
        "token_ids": list(range(size)), "mask": [own and place > 0 for place in range(size)],
        "logprobs": [-0.5] * (size - 1) if own else [], **more,
    }  # fmt: skip


def trace(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "id": "t1", "nodes": list(nodes), "is_completed": True, "ok": True, **more}


def episode(*traces: dict[str, Any], **more: Any) -> dict[str, Any]:
    work = {"type": "train", "step": 4}
    return {
        "id": "e1", "env": {"id": "w"}, "group": {"id": "g"}, "run": {"id": "r", "work": work}, "traces": list(traces),
        **more,
    }  # fmt: skip


def chain() -> list[dict[str, Any]]:
    return [node(None, "user"), node(0), node(1, "user", 2), node(2)]


def one(tmp_path: Path, *traces: dict[str, Any], **more: Any) -> Sample:
    write(tmp_path / STREAM, episode(*traces, **more))
    (sample,) = samples(only_run(tmp_path))
    return sample


def annotate(tmp_path: Path, producer: str, *records: dict[str, Any], indexed: bool = True) -> None:
    """Write annotations as prime-rl does: a chunk, and an index of where each line of it begins."""
    path = write(tmp_path / NOTED / producer / "00000.jsonl", *records)
    offsets = np.cumsum([0, *(len(line) + 1 for line in path.read_bytes().split(b"\n"))]).tolist()
    rows_of_index = [
        {"trace_id": record["trace_id"], "chunk": 0, "offset": offset, "info": record.get("info", {})}
        for record, offset in zip(records, offsets, strict=False)
    ]
    if indexed:
        write(tmp_path / NOTED / f"{producer}.index.jsonl", *rows_of_index)


def note(info: dict[str, Any] | None = None, index: int = 0, trace_id: str = "t1", **streams: Any) -> dict[str, Any]:
    return {"version": 1, "trace_id": trace_id, "info": info or {}, "branches": [{"index": index, **streams}]}


# The sample run


def test_the_sample_run_is_what_was_written() -> None:
    run = only_run(RUN)
    assert (run.name, run.format) == ("run_wordle", "prime_rl_traces")
    found = rows(run)
    assert [(row.step, row.group, row.total_tokens, row.response_tokens, row.turns) for row in found] == [
        (1, "0", 336, 129, 2), (1, "0", 392, 152, 3), (1, "0", 532, 259, 4),
        (2, "1", 606, 300, 5), (2, "1", 371, 131, 3), (2, "1", 564, 291, 4),
    ]  # fmt: skip
    wanted = [1.4933333333, 1.41, 1.36, 1.3266666667, 1.41, 1.36]
    assert [row.reward for row in found] == pytest.approx(wanted)
    assert {(row.split, row.env, row.status, row.prompt_tokens) for row in found} == {
        ("train", "wordle", "completed", 174)
    }
    assert found[0].uid == found[0].index == "e3e70682c2094cac629f6fbed82c07cd:0"
    assert (found[0].metrics["reward.format"], found[0].tags["agent"]) == (0.8, "agent")


def test_annotations_are_folded_into_the_samples() -> None:
    found = samples(only_run(RUN))
    assert [sample.row.advantage for sample in found] == [
        0.072222,
        -0.011111,
        -0.061111,
        -0.038889,
        0.044444,
        -0.005556,
    ]
    assert [sample.row.metrics["ship.step"] for sample in found] == [1, 1, 1, 2, 2, 2]
    for sample in found:
        mask = series(sample, "loss_mask") == 1
        assert [one.name for one in sample.series] == [
            "loss_mask", "logprobs", "advantages", "trainer_logprobs", "entropy", "is_masked", "mismatch_kl",
        ]  # fmt: skip
        for one in sample.series[1:]:
            assert np.array_equal(~np.isnan(one.values), mask), one.name
        assert sample.notes == []


def test_the_numbers_are_those_of_the_token_exports_of_the_same_rollouts() -> None:
    exported = {row.response_tokens: row.metrics for row in rows(only_run(DATA / "exports/v6_pr3189"))}
    for sample in samples(only_run(RUN))[:3]:
        other = exported[sample.row.response_tokens]
        assert np.nanmean(series(sample, "mismatch_kl")) == pytest.approx(other["mismatch_kl"], rel=1e-4)
        assert np.nanmean(series(sample, "entropy")) == pytest.approx(other["entropy"], abs=1e-4)
        assert np.nansum(series(sample, "is_masked")) >= other["is_masked"]


def test_turns_have_their_place_among_the_tokens_and_the_call_that_made_them() -> None:
    sample = samples(only_run(RUN))[0]
    assert [(turn.role, turn.origin) for turn in sample.turns[:3]] == [
        ("system", "prompt"), ("user", "prompt"), ("assistant", "response"),
    ]  # fmt: skip
    assert [(turn.token_start, turn.token_stop) for turn in sample.turns][:3] == [(0, 54), (54, 166), (166, 205)]
    assert sample.turns[-1].token_stop == len(sample.token_ids) == 336
    assert (sample.turns[2].stop_reason, sample.turns[2].metrics["completion_tokens"]) == ("stop", 31)
    assert sample.label == "story"
    assert sample.prompt_text.startswith("You are a competitive game player.")


def test_metrics_are_merged_by_step_and_those_without_one_come_last(prime: PrimeRLTraces) -> None:
    found = prime.metrics(only_run(RUN))
    assert [(row.step, len(row.values)) for row in found] == [(1, 4), (2, 4), (None, 1)]
    assert found[2].time_s == 1789000005.0


def test_the_run_can_be_opened_at_several_places() -> None:
    for place in (DATA / "traces", RUN, RUN / "monitors", RUN / "monitors/file/traces"):
        run = only_run(place)
        assert (run.name, len(rows(run))) == ("run_wordle", 6), place
        assert samples(run)[0].row.advantage == 0.072222, place
    alone = only_run(RUN / STREAM)
    assert samples(alone)[0].row.advantage is None  # nothing beside a file that was named alone is opened


def test_what_lies_beside_the_stream_is_named() -> None:
    reasons = {note.reason.partition(": ")[0]: note.reason for note in discover([RUN]).notes}
    assert len(reasons) == 3
    assert all("prime-rl" in reason and "no format" not in reason for reason in reasons.values()), reasons


def test_samples_are_found_by_id(demo_index: Path) -> None:
    with rolloupe.open(RUN, index_dir=demo_index) as runs:
        assert [(split.name, split.samples, split.groups) for split in runs.splits()] == [("train", 6, 2)]
        key = "train/2/1/e443df789558867f5ba91faf7a024204:0"
        assert runs.sample(key).row.advantage == 0.044444


# Branches


def forked() -> dict[str, Any]:
    """Two branches: nodes 0, 1, 2 and nodes 0, 1, 3, 4."""
    return trace(node(None, "user"), node(0), node(1), node(1, "user", 2), node(3))


def test_every_leaf_of_every_trace_is_a_sample(tmp_path: Path) -> None:
    write(tmp_path / STREAM, episode(forked(), trace(*chain(), id="t2")), episode(trace(*chain(), id="t3")))
    found = samples(only_run(tmp_path))
    assert [(s.row.uid, s.row.part, s.row.turns) for s in found] == [
        ("t1:0", "000.000", 2), ("t1:1", "000.001", 2), ("t2:0", "001.000", 2), ("t3:0", "000.000", 2),
    ]  # fmt: skip
    assert [len(s.token_ids) for s in found] == [9, 11, 11, 11]
    assert [[turn.role for turn in s.turns] for s in found[:2]] == [
        ["user", "assistant", "assistant"], ["user", "assistant", "user", "assistant"],
    ]  # fmt: skip
    assert len({s.key for s in found}) == 4


def test_failures_without_messages_are_samples_too(tmp_path: Path) -> None:
    error = {"type": "SandboxError", "message": "no\nsandbox"}
    write(
        tmp_path / STREAM, episode(errors=[error], ok=False), episode(trace(errors=[error], ok=False)),
        {"traces": "odd"}, {"other": 1},
    )  # fmt: skip
    *found, problem = items(only_run(tmp_path))
    assert isinstance(problem, Problem) and "not a sample" in problem.reason
    assert [(r.status, r.status_raw) for r in found[:2] if isinstance(r, SampleRow)] == [("error", "SandboxError")] * 2
    first = samples(only_run(tmp_path))[0]
    assert first.notes == ["error: SandboxError: no\nsandbox", "an episode without traces"]
    assert (first.turns, first.series, first.row.reward) == ([], [], None)


@pytest.mark.parametrize("parent", [1, 2, 99, -1, "0", 0.5, True, [0]])
def test_a_parent_that_is_none_makes_a_root(tmp_path: Path, parent: Any) -> None:
    write(tmp_path / STREAM, episode(trace(node(None, "user"), node(parent))))
    found = samples(only_run(tmp_path))
    assert len(found) == 2
    assert [len(sample.turns) for sample in found] == [1, 1]


def test_many_branches_are_listed_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MAX_BRANCHES", 5)
    write(tmp_path / STREAM, episode(trace(node(None, "user"), *(node(0) for _ in range(9)))))
    *found, problem = items(only_run(tmp_path))
    assert len(found) == 5 and isinstance(problem, Problem)
    assert problem.reason == "more branches in this episode than are listed: 5 are" and not problem.transient
    assert samples(only_run(tmp_path))[4].row.uid == "t1:4"


def test_what_branches_share_makes_only_so_much_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prime_rl_traces, "MAX_TEXT_CHARS", 5_000)
    root = node(None, "user", message={"role": "user", "content": "x" * 2_000})
    write(tmp_path / STREAM, episode(trace(root, *(node(0) for _ in range(9)))))
    *found, problem = items(only_run(tmp_path))
    assert len(found) == 2 and isinstance(problem, Problem)


def test_numbers_that_branches_share_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prime_rl_traces, "MAX_METRICS", 5)
    sample = one(tmp_path, trace(*chain(), metrics={f"m{at}": at for at in range(9)}, rewards={"r": 1.0}))
    assert list(sample.row.metrics) == ["reward.r", "m0", "m1", "m2", "m3"]
    assert sample.extra["trace"]["metrics"]["m8"] == 8
    assert sample.notes == ["more than 5 numbers: the others appear only in the extra fields"]


def test_a_trace_of_very_many_nodes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MAX_NODES", 10)
    monkeypatch.setattr(episodes, "MAX_VISITS", 50)
    sample = one(tmp_path, trace(*(node(None if at == 0 else at - 1) for at in range(30))))
    assert len(sample.turns) == 10
    assert any("more than 10 messages" in note for note in sample.notes)
    comb = trace(*(node(None if at == 0 else (at - 1) // 2 * 2) for at in range(9)), id="comb")
    write(tmp_path / STREAM, episode(*[comb] * 30))
    *found, problem = items(only_run(tmp_path))
    assert 0 < len(found) < 30 and isinstance(problem, Problem)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, ("completed", "")),
        ({"stop_condition": "agent_completed"}, ("completed", "agent_completed")),
        ({"stop_condition": "max_turns_reached"}, ("truncated", "max_turns_reached")),
        ({"is_completed": False}, ("unknown", "")),
        ({"is_timeout": True}, ("error", "timeout")),
        ({"ok": False, "stop_condition": "odd"}, ("error", "odd")),
        ({"calls": [{"node": 1, "finish_reason": "length"}]}, ("truncated", "length")),
        ({"errors": [{"type": "A"}, {"type": "B"}], "stop_condition": "length"}, ("error", "B")),
        ({"errors": ["odd"]}, ("error", "error")),
    ],
)
def test_how_a_trace_ended(tmp_path: Path, more: dict[str, Any], status: tuple[str, str]) -> None:
    row = one(tmp_path, trace(*chain(), **more)).row
    assert (row.status, row.status_raw) == status


def test_evaluations_are_splits_of_their_own(tmp_path: Path) -> None:
    assert one(tmp_path, trace(*chain(), info={"kind": "eval"})).row.split == "eval/w"
    assert one(tmp_path, trace(*chain()), run={"type": "eval"}, env="gsm").row.split == "eval/gsm"
    assert one(tmp_path, trace(*chain()), run={"work": {"type": "eval"}}, env=None).row.split == "eval/default"


def test_rewards_are_weighted_and_those_that_are_null_are_left_out(tmp_path: Path) -> None:
    rewards = {"a": {"score": 1.0, "weight": 0.5}, "b": None, "c": {"score": 2}, "d": 0.25, "e": {"score": "x"}}
    row = one(tmp_path, trace(*chain(), rewards=rewards)).row
    assert row.reward == 0.5 + 2 + 0.25
    assert {k: v for k, v in row.metrics.items() if k.startswith("reward.")} == {
        "reward.a": 1.0, "reward.c": 2.0, "reward.d": 0.25,
    }  # fmt: skip


def test_arrays_that_disagree_are_shown_up_to_the_shorter(tmp_path: Path) -> None:
    odd = node(0, logprobs=[-1.0, -2.0, -3.0], mask=[True, True])
    sample = one(tmp_path, trace(node(None, "user"), odd))
    assert len(sample.token_ids) == 5
    assert series(sample, "logprobs")[3:].tolist() == [-1.0, -2.0]
    assert sample.notes == [
        "token ids and mask of unequal length in 1 messages: shown up to the shorter",
        "not as many values as sampled tokens in logprobs: shown from the start of each message",
    ]


# Annotations


def test_the_newest_annotation_wins_and_what_is_said_of_a_trace_is_merged(tmp_path: Path) -> None:
    full = [None, *([9.0] * 10)]
    annotate(
        tmp_path, "orch", note({"advantage": 1.0, "ship": {"step": 4}, "gar": 2}, advantages=full),
        note(trace_id="t12", advantages=full),
        note({"advantage": 0.5, "ship": {"batch": 7}}, advantages=[0.5] * 11),
    )  # fmt: skip
    sample = one(tmp_path, trace(*chain()))
    assert (sample.row.advantage, sample.row.metrics["gar"], sample.row.metrics["ship.step"]) == (0.5, 2, 4)
    assert sample.extra["info"] == {"advantage": 0.5, "ship": {"step": 4, "batch": 7}, "gar": 2}
    assert np.nanmax(series(sample, "advantages")) == 0.5
    assert np.array_equal(~np.isnan(series(sample, "advantages")), series(sample, "loss_mask") == 1)


def test_a_strict_stream_is_taken_only_where_it_covers_a_message(tmp_path: Path) -> None:
    """Tokens 4, 5 and 9, 10 are sampled."""
    strict: list[Any] = [None] * 4 + [-1.0, None] + [None] * 3 + [-2.0, -3.0]
    annotate(tmp_path, "trainer", note(trainer_logprobs=strict, mismatch_kl=strict, new_one=strict))
    sample = one(tmp_path, trace(*chain()))
    assert np.flatnonzero(~np.isnan(series(sample, "trainer_logprobs"))).tolist() == [9, 10]
    assert np.flatnonzero(~np.isnan(series(sample, "mismatch_kl"))).tolist() == [4, 9, 10]
    assert np.flatnonzero(~np.isnan(series(sample, "new_one"))).tolist() == [4, 9, 10]


def test_a_stream_ends_at_the_first_message_that_it_does_not_cover(tmp_path: Path) -> None:
    annotate(tmp_path, "trainer", note(entropies=[1.0] * 10, is_masked=[True] * 6))
    sample = one(tmp_path, trace(*chain()))
    assert np.flatnonzero(~np.isnan(series(sample, "entropy"))).tolist() == [4, 5]
    assert series(sample, "is_masked")[4:6].tolist() == [1, 1]


def test_what_is_learned_of_a_message_counts_for_every_branch_that_holds_it(tmp_path: Path) -> None:
    annotate(tmp_path, "trainer", note(index=0, entropies=[1.0] * 9), note(index=1, entropies=[None] * 8 + [2.0] * 3))
    write(tmp_path / STREAM, episode(forked()))
    first, second = (series(sample, "entropy") for sample in samples(only_run(tmp_path)))
    assert first[[4, 5, 7, 8]].tolist() == [1, 1, 1, 1]
    assert second[[4, 5, 9, 10]].tolist() == [1, 1, 2, 2]


def test_annotations_without_an_index_and_plain_files_are_found(tmp_path: Path) -> None:
    annotate(tmp_path, "orch", note({"advantage": 3.0}), indexed=False)
    write(tmp_path / NOTED / "trainer.jsonl", note(entropies=[1.0] * 11), note({"advantage": 4.0}, trace_id="other"))
    sample = one(tmp_path, trace(*chain()))
    assert sample.row.advantage == 3.0
    assert np.nansum(series(sample, "entropy")) == 4


def test_an_index_that_points_elsewhere_still_tells_what_it_holds(tmp_path: Path) -> None:
    annotate(tmp_path, "orch", note({"advantage": 3.0}))
    write(
        tmp_path / NOTED / "orch.index.jsonl",
        {"trace_id": "t1", "chunk": 0, "offset": 7, "info": {"advantage": 2.0}},
        {"trace_id": "t1", "chunk": 5, "offset": 0, "info": {"gar": 1.0}},
        {"trace_id": "t1", "chunk": 0, "offset": "x", "info": []},
    )
    sample = one(tmp_path, trace(*chain()))
    assert (sample.row.advantage, sample.row.metrics["gar"]) == (2.0, 1.0)
    assert sample.notes == ["3 annotations of orch are not where their index says"]


def test_torn_and_foreign_annotations_are_passed_over(tmp_path: Path) -> None:
    annotate(tmp_path, "orch", note({"advantage": 3.0}))
    for path in (tmp_path / NOTED / "orch.index.jsonl", tmp_path / NOTED / "orch/00000.jsonl"):
        with path.open("ab") as file:
            file.write(b'\xff\n[1]\nnull\n{"trace_id": "t1", "chu')
    (tmp_path / NOTED / "empty.index.jsonl").touch()
    sample = one(tmp_path, trace(*chain()))
    assert (sample.row.advantage, sample.notes) == (3.0, [])


def test_a_sample_that_was_not_trained_on_says_so(tmp_path: Path) -> None:
    annotate(tmp_path, "orch", note({"effective": False, "ship": {"step": 6}}))
    sample = one(tmp_path, trace(*chain()))
    assert sample.row.discarded == "not effective"
    assert sample.row.step == 4
    assert sample.notes == ["shipped in step 6, listed under step 4 that it was generated for"]


def test_very_many_annotations_of_one_trace_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_files, "MAX_RECORDS", 3)
    annotate(tmp_path, "orch", *(note({"advantage": float(at)}) for at in range(9)))
    sample = one(tmp_path, trace(*chain()))
    assert sample.row.advantage == 8.0
    assert sample.notes == ["annotations of orch: only the last 3 count"]


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 9))
def test_lines_are_found_by_what_stands_in_them(
    tmp_path_factory: pytest.TempPathFactory, some: list[bytes], block: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "found"
    file.write_bytes(b"\n".join(some))
    wanted = [line for line in b"\n".join(some).split(b"\n") if b"\x00" in line]
    with pytest.MonkeyPatch.context() as patch, file.open("rb") as opened:
        patch.setattr(trainer_files, "SEARCH_BLOCK_BYTES", block)
        assert list(trainer_files.lines_with(opened, b"\x00")) == wanted


def test_annotations_are_scanned_like_samples(prime: PrimeRLTraces, tmp_path: Path) -> None:
    run = only_run(RUN)
    sources = [source for source in prime.sources(run) if source.annotates]
    assert [source.name for source in sources] == ["annotations/orch/00000.jsonl", "annotations/trainer/00000.jsonl"]
    found = [item for source in sources for item in prime.scan(run, source, 0, 2**62)]
    assert Counter(type(item) for item in found) == {Annotation: 18}
    said = [item for item in found if isinstance(item, Annotation)]
    assert {item.uid for item in said} == {uid for row in rows(run) for uid in (row.uid, row.trace_id)}
    of_trace, of_branch = said[0], said[-1]
    assert (of_trace.advantage, of_trace.discarded, of_trace.metrics) == (0.072222, "", {"ship.step": 1.0})
    assert of_branch.metrics.keys() == {"trainer_logprobs", "entropy", "is_masked", "mismatch_kl"}
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"trace_id": "t", "info": {"a": 1}}\n\n[]\n{"trace_id": 1.5e400}\n{"trace')
    read = list(prime.scan(run, sources[0].__class__(path=str(bad), name="bad", annotates=True), 0, 2**62))
    assert [type(item) for item in read] == [Annotation, Problem, Annotation, Problem]


def test_what_a_list_says_is_what_the_sample_says() -> None:
    run = only_run(RUN)
    reader = by_name(run.format)
    said: dict[str, dict[str, float]] = {}
    for source in reader.sources(run):
        for item in reader.scan(run, source, 0, 2**62):
            if isinstance(item, Annotation):
                said[item.uid] = said.get(item.uid, {}) | item.metrics
    for sample in samples(run):
        row = sample.row
        assert said[row.uid].items() <= row.metrics.items()
        assert said[row.trace_id].items() <= row.metrics.items()
        for name in ("entropy", "mismatch_kl", "trainer_logprobs"):
            assert row.metrics[name] == pytest.approx(float(np.nanmean(series(sample, name))))


# Faults

KEYS = ["traces", "env", "group", "run", "errors", "task", "id"]
node_values = st.fixed_dictionaries(
    {},
    optional={
        "parent": numbers | leaves, "sampled": st.booleans() | leaves, "message": values,
        "token_ids": st.lists(numbers | leaves, max_size=4) | leaves,
        "mask": st.lists(st.booleans(), max_size=4) | leaves,
        "logprobs": st.lists(numbers | leaves, max_size=4) | leaves,
    },
)  # fmt: skip
trace_values = st.fixed_dictionaries(
    {},
    optional={
        "id": texts | leaves, "nodes": st.lists(node_values | leaves, max_size=5) | values, "rewards": values,
        "info": values, "calls": st.lists(values, max_size=2) | values, "errors": values, "task": values,
        "metrics": values, "timing": values, "agent": values, "stop_condition": leaves,
    },
)  # fmt: skip
episode_values = st.fixed_dictionaries(
    {"traces": st.lists(trace_values | leaves, max_size=3) | values},
    optional={"env": values, "group": values, "run": values, "errors": values, "id": leaves, "task": values},
)
note_values = st.fixed_dictionaries(
    {"trace_id": texts | leaves, "info": values, "branches": st.lists(values, max_size=2) | values}
)


@settings(max_examples=amount(60, 150))
@given(st.lists(episode_values, max_size=3), st.lists(note_values, max_size=3), st.booleans())
def test_whatever_the_files_hold_every_row_loads_and_can_be_sent(
    tmp_path_factory: pytest.TempPathFactory, some: list[dict[str, Any]], notes: list[dict[str, Any]], indexed: bool
) -> None:
    folder = tmp_path_factory.getbasetemp() / "traces"
    write(folder / "stream/00000.jsonl", *some)
    write(folder / "annotations/orch/00000.jsonl", *notes)
    index = write(folder / "annotations/orch.index.jsonl", *({**note, "chunk": 0, "offset": 0} for note in notes))
    if not indexed:
        index.unlink()
    reader = by_name("prime_rl_traces")
    (run,) = reader.detect(folder, forced=True)
    source, noted = reader.sources(run)
    for item in reader.scan(run, noted, 0, 2**62):
        assert not isinstance(item, Problem) or "defect" not in item.reason
    starts = set()
    for item in reader.scan(run, source, 0, 2**62):
        starts.add(item.start)
        if isinstance(item, Problem):
            assert "defect" not in item.reason
            continue
        assert isinstance(item, SampleRow)
        sample = load(reader, run, source, item)
        assert (sample.row.split, sample.row.step, sample.row.group, sample.row.index) == (
            item.split, item.step, item.group, item.index,
        )  # fmt: skip
        assert {len(one.values) for one in sample.series} <= {len(sample.token_ids)}
        repr(sample).encode("utf-8")
        json.dumps(sample.extra, ensure_ascii=False).encode("utf-8")
        assert abs(item.step) < 2**53
    assert len(starts) == len(some)


def test_a_part_that_is_gone_is_refused(tmp_path: Path, prime: PrimeRLTraces) -> None:
    write(tmp_path / STREAM, episode(trace(*chain())))
    run = only_run(tmp_path)
    (source,), (row,) = prime.sources(run), rows(run)
    with pytest.raises(SourceChanged, match=r"part '000\.007' is gone"):
        prime.load(run, source, Locator(source=source.name, start=row.start, length=row.length, part="000.007"))


def test_a_task_that_is_longer_than_a_look_hides_nothing(tmp_path: Path) -> None:
    long = episode(task={"data": {"prompt": "x" * 2**21}}) | {"traces": [trace(*chain())]}
    write(tmp_path / STREAM, {key: long[key] for key in ("id", "task", "env", "group", "run", "traces")})
    assert rows(only_run(tmp_path))[0].uid == "t1:0"


def test_an_empty_stream_is_a_run_by_its_place(tmp_path: Path) -> None:
    write(tmp_path / STREAM)
    run = only_run(tmp_path)
    assert (run.reason, rows(run)) == ("1 chunk of a stream of episodes", [])
    write(tmp_path / "monitors/file/traces/stream/00001.jsonl", episode(trace(*chain())))
    assert len(rows(run)) == 1


def test_the_stream_of_the_first_day_is_one_file(tmp_path: Path) -> None:
    write(tmp_path / "monitors/file/traces/stream.jsonl", episode(trace(*chain())))
    write(tmp_path / NOTED / "orch.jsonl", note({"advantage": 0.25}))
    (sample,) = samples(only_run(tmp_path))
    assert (sample.row.uid, sample.row.advantage) == ("t1:0", 0.25)
