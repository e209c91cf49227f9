"""Evaluations of verifiers: groups by example in any order, calls as texts of JSON, metadata that may be wrong."""

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path

from rolloupe.formats import by_name, discover
from rolloupe.model import Problem, SampleRow
from tests.formats.support import items, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "verifiers"


def test_a_run_is_an_evaluation_with_groups_by_example() -> None:
    run = only_run(DATA)
    found = samples(run)
    assert (run.format, len(found)) == ("verifiers", 15)
    assert sorted(Counter(sample.key.group for sample in found).values()) == [3] * 5
    assert mean_reward([sample.row for sample in found]) == 1.0
    for sample in found:
        roles = [turn.role for turn in sample.turns]
        assert roles[0] == "system" and roles.count("assistant") == sample.row.turns
        assert sample.label and "correct_answer_reward_func" in sample.row.metrics
    calls = [part.call for sample in found for turn in sample.turns for part in turn.parts if part.call]
    assert {call.name for call in calls} == {"python"}


def test_new_rows_interleaved_with_errors_and_an_unfinished_line(tmp_path: Path) -> None:
    row = {"prompt": "p", "completion": [], "reward": 1.5, "is_completed": True, "stop_condition": "max_turns_reached"}
    lines = [row | {"example_id": n % 2, "error": {"error": "E"} if n == 3 else None} for n in range(4)]
    write(tmp_path / "results.jsonl", *lines)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"example_id": 0, "prom')
    (tmp_path / "metadata.json").write_text(json.dumps({"env_id": "me/wordle", "avg_reward": 0.0}))
    run = only_run(tmp_path)
    *found, last = items(run)
    assert isinstance(last, Problem) and last.transient
    read = [one for one in found if isinstance(one, SampleRow)]
    assert [(one.split, one.group, one.status) for one in read] == [
        ("eval/me_wordle", "0", "truncated"), ("eval/me_wordle", "1", "truncated"),
        ("eval/me_wordle", "0", "truncated"), ("eval/me_wordle", "1", "error"),
    ]  # fmt: skip
    assert by_name("verifiers").config(run)["avg_reward"] == 0.0


def test_a_pointer_is_not_downloaded_and_a_compressed_file_alone_opens(tmp_path: Path) -> None:
    (source,) = DATA.rglob("results.jsonl")
    (tmp_path / "copy.jsonl.gz").write_bytes(gzip.compress(source.read_bytes()))
    assert len(rows(only_run(tmp_path / "copy.jsonl.gz"))) == 15
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    (tmp_path / "results.jsonl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert any("not downloaded" in note.reason for note in discover([tmp_path]).notes)


def test_rows_without_a_telling_key_are_results_beside_metadata(tmp_path: Path) -> None:
    lines = [{"reward": n / 2, "completion": [], "prompt": "p", "example_id": n % 2} for n in range(4)]
    write(tmp_path / "results.jsonl", *lines)
    (run,) = discover([tmp_path]).runs
    assert run.format == "generic"
    (tmp_path / "metadata.json").write_text(json.dumps({"model": "m"}))
    assert only_run(tmp_path).format == "generic"
    (tmp_path / "metadata.json").write_text(json.dumps({"env": "wordle"}))
    for place in (tmp_path, tmp_path / "results.jsonl"):
        found = rows(only_run(place))
        assert [(one.split, one.group, one.reward) for one in found] == [
            ("eval/wordle", str(n % 2), n / 2) for n in range(4)
        ]
    write(tmp_path / "results.jsonl", *(line | {"advantage": 1.0, "env_name": "e"} for line in lines))
    assert only_run(tmp_path).format != "verifiers"


STREAM = DATA.parent / "prime_rl/traces/run_wordle/monitors/file/traces/stream/00000.jsonl"


def test_the_traces_of_verifiers_are_evaluations_with_tokens_and_groups_by_task(tmp_path: Path) -> None:
    episodes = [json.loads(line) for line in STREAM.read_text().splitlines()]
    for one in episodes:
        one["run"], one["group"], one["task"]["key"] = {"id": "x"}, None, "wordle-0"
        for trace in one["traces"]:
            trace["info"] = {}
    write(tmp_path / "run" / "traces.jsonl", *episodes)
    (tmp_path / "run" / "configs" / "resolved").mkdir(parents=True)
    (tmp_path / "run" / "configs" / "resolved" / "eval.json").write_text('{"model": "m"}')
    run = only_run(tmp_path)
    found = samples(run)
    assert (run.format, len(found)) == ("verifiers", 6)
    assert {(one.row.split.partition("/")[0], one.row.group, one.row.step) for one in found} == {
        ("eval", "wordle-0", 0)
    }
    assert all(one.token_ids and {series.name for series in one.series} >= {"loss_mask"} for one in found)
    assert by_name("verifiers").config(run) == {"model": "m"}


def test_a_trace_alone_is_a_sample(tmp_path: Path) -> None:
    trace = json.loads(STREAM.read_text().splitlines()[0])["traces"][0] | {"info": {}}
    write(tmp_path / "traces.jsonl", trace, trace | {"id": "other", "rewards": {"a": {"score": 2, "weight": 0.5}}})
    found = rows(only_run(tmp_path))
    assert [row.split.partition("/")[0] for row in found] == ["eval", "eval"] and found[1].reward == 1.0


def test_a_stream_of_prime_rl_stays_its_own() -> None:
    assert only_run(STREAM).format == "prime_rl_traces"
