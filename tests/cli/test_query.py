"""`rolloupe query`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe import Recorder
from rolloupe.cli.terminal import FIXED, sample_record
from rolloupe.model import ALIASES, KNOWN
from rolloupe.query import SampleItem
from tests.cli.support import rolloupe, row, strict, write_run
from tests.thoroughness import each


def ids(*words: str | Path) -> list[str]:
    return [line["id"] for line in rolloupe("query", *words, "--json").lines]


def test_a_line_has_the_fixed_keys_and_the_sample_metrics(run: Path) -> None:
    done = rolloupe("query", run, "--json", "--split", "train", "--step", "0", "--limit", "1")
    assert (done.code, done.err) == (0, "")
    (line,) = done.lines
    assert tuple(line)[: len(FIXED)] == FIXED
    assert {name: line[name] for name in FIXED} == {
        "id": "train/0/0/0", "run": "run", "split": "train", "step": 0, "group": "0", "index": "0", "reward": 0.0,
        "advantage": None, "status": "completed", "discarded": None, "turns": 1, "response_tokens": 0,
    }  # fmt: skip


def test_all_samples_come_without_a_limit(tmp_path: Path) -> None:
    write_run(tmp_path, {step: [row(i) for i in range(3000)] for step in range(2)})
    found = ids(tmp_path)
    assert len(found) == len(set(found)) == 6000


def test_metrics_called_like_a_fixed_key_get_a_prefix() -> None:
    metrics = {"acc": 1.0, "turns": 7.0, "metric.turns": 8.0, "metric.acc": 9.0}
    item = SampleItem(
        "train/0/g/i", "train", 0, "g", "i", "", None, None, "unknown", 2, None, None, None, 0, "", "", "", "", "", [],
        metrics,
    )  # fmt: skip
    record = sample_record("run", item)
    assert record["turns"] == 2
    assert {name: value for name, value in record.items() if name not in FIXED} == {
        "acc": 1.0, "metric.turns": 7.0, "metric.metric.turns": 8.0, "metric.acc": 9.0,
    }  # fmt: skip


def test_every_sample_metric_is_written(hostile_run: Path) -> None:
    line = rolloupe("query", hostile_run, "--where", "index = 4", "--json").lines[0]
    assert line["reward.[red]\x1b[31m"] == 2.0


def test_what_json_has_no_number_for_is_named(hostile_run: Path) -> None:
    rewards = [line["reward"] for line in rolloupe("query", hostile_run, "--json").lines]
    assert rewards == [0.0, "NaN", "-Infinity", None, 1.0]


@each(
    ("words", "expected"),
    [
        (["--step", "3"], 6),
        (["--step", "0:2"], 4),
        (["--step", "1:"], 6),
        (["--step", ":2"], 4),
        (["--step", ":"], 10),
        (["--split", "eval/gsm8k"], 2),
        (["--split", "train", "--group", "1"], 4),
        (["--where", "reward >= 2 and response_tokens < 30"], 1),
        (["--where", "status = completed and split = 'train'"], 8),
        (["--limit", "3"], 3),
        (["--offset", "7"], 3),
        (["--offset", "2", "--limit", "100"], 8),
        (["--limit", "0"], 0),
        (["--run", "run"], 10),
    ],
)
def test_samples_are_narrowed(run: Path, words: list[str], expected: int) -> None:
    done = rolloupe("query", run, *words, "--json")
    assert len(done.lines) == expected
    assert done.code == (0 if expected else 1)


def test_samples_are_sorted(run: Path) -> None:
    options = (run, "--split", "train", "--sort", "reward", "--limit", "1")
    assert ids(*options, "--desc") == ["train/0/1/3"]
    assert ids(*options)[0].startswith("train/3/")


def test_runs_without_the_column_are_left_out_and_named(demo_runs: Path) -> None:
    done = rolloupe("query", demo_runs, "--where", "avg_kl > -1", "--json")
    assert (done.code, len(done.lines)) == (0, 48)
    assert "Run eval_poem_task is left out: no column 'avg_kl'" in done.err
    nowhere = rolloupe("query", demo_runs, "--where", "nothing > 0")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "no column 'nothing'" in nowhere.err


def test_the_table_says_what_it_leaves_out(demo_runs: Path) -> None:
    done = rolloupe("query", demo_runs, "--run", "eval_poem_task")
    assert len(done.out.splitlines()) == 51
    assert done.err == "462 more: see them with --limit, --offset or --json.\n"
    rest = rolloupe("query", demo_runs, "--run", "eval_poem_task", "--offset", "500")
    assert (len(rest.out.splitlines()), rest.err) == (13, "")


def test_the_table_shows_what_it_is_sorted_by_and_whole_ids(demo_runs: Path) -> None:
    done = rolloupe("query", demo_runs, "--run", "gen_train_toy", "--sort", "avg_kl", "--desc", "--limit", "2")
    assert "avg_kl" in done.out.splitlines()[0]
    found = ids(demo_runs, "--run", "gen_train_toy", "--sort", "avg_kl", "--desc", "--limit", "2")
    assert all(one in done.out for one in found)


@each(
    ("words", "said"),
    [
        (["--step", "one"], "neither a step nor a range"),
        (["--step", "1:2:3"], "neither a step nor a range"),
        (["--step", "5:3"], "write 3:5"),
        (["--where", "reward <"], "at character 9 expected a value"),
        (["--where", "reward = much"], "reward is numeric"),
        (["--sort", "nothing"], "no column 'nothing'"),
        (["--limit", "-1"], "--limit"),
        (["--format", "nothing"], "There are: native, telescope, tinker"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(run: Path, words: list[Any], said: str) -> None:
    done = rolloupe("query", run, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_no_match_is_exit_code_one(run: Path) -> None:
    done = rolloupe("query", run, "--where", "reward > 100")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("No sample matches. There are: train (steps ")
    assert rolloupe("query", run, "--run", "other").code == 1


def test_a_selection_goes_into_a_file(run: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for ending in ("jsonl", "csv", "parquet"):
        done = rolloupe("query", run, "--where", "reward >= 0", "--to", tmp_path / f"out.{ending}")
        assert done.code == 0 and f"out.{ending}" in done.out
    rows = [strict(line) for line in (tmp_path / "out.jsonl").read_text().split("\n")[:-1]]
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["id"].to_pylist() == [row["id"] for row in rows] != []
    lines = rolloupe("query", run, "--where", "reward >= 0", "--json").lines
    assert [row["discarded"] for row in rows] == [line["discarded"] for line in lines]
    assert all({"label", "ref_response"} <= set(row) for row in rows)
    assert sorted(path.name for path in tmp_path.glob("*out*")) == ["out.csv", "out.jsonl", "out.parquet"]
    assert rolloupe("query", run, "--to", tmp_path / "out.xlsx").code == 2
    assert rolloupe("query", run, "--to", tmp_path / "no/folder/out.csv").code == 3


def test_a_file_that_is_there_is_replaced_only_where_that_is_asked_for(run: Path, tmp_path: Path) -> None:
    there = tmp_path / "out.jsonl"
    there.write_text("mine")
    done = rolloupe("query", run, "--to", there)
    assert (done.code, done.out, there.read_text()) == (3, "", "mine")
    assert f"{there} exists" in done.err.replace("\n", " ") and "--overwrite" in done.err
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "nowhere.csv")
    assert rolloupe("query", run, "--to", link).code == 3
    done = rolloupe("query", run, "--to", there, "--overwrite")
    assert done.code == 0 and strict(there.read_text().partition("\n")[0])["id"]


def test_a_file_that_appears_meanwhile_is_not_replaced(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolloupe import export

    there = tmp_path / "out.jsonl"
    written = export.written

    def slowly(*given: Any) -> Iterator[bytes]:
        yield from written(*given)
        there.write_text("of somebody else")

    monkeypatch.setattr(export, "written", slowly)
    done = rolloupe("query", run, "--to", there)
    assert (done.code, there.read_text()) == (3, "of somebody else") and "exists" in done.err
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out.jsonl"]
    assert rolloupe("query", run, "--to", there, "--overwrite").code == 0


def test_a_file_of_the_run_is_never_replaced(run: Path) -> None:
    for target in (run / "rollout_result/train/0.jsonl", run / "rollout_result/train/new.jsonl"):
        before = target.read_bytes() if target.exists() else None
        for more in ([], ["--overwrite"]):
            done = rolloupe("query", run, "--to", target, *more)
            assert done.code == 3 and ("is part of run" in done.err or "exists" in done.err)
        assert (target.read_bytes() if target.exists() else None) == before


def test_no_link_in_the_folder_leads_a_file_elsewhere(run: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / f".out.csv.{os.getpid()}").symlink_to(tmp_path / "victim")
    assert rolloupe("query", run, "--to", tmp_path / "out.csv").code == 0
    assert (tmp_path / "victim").read_text() == "mine" and not (tmp_path / "out.csv").is_symlink()


@pytest.mark.parametrize("prefix", ["derived.", ""])
def test_files_have_the_derived_metrics_that_the_query_names(run: Path, tmp_path: Path, prefix: str) -> None:
    where = ("--where", f"{prefix}characters >= 0", "--sort", f"{prefix}think_chars")
    for ending in ("jsonl", "csv", "parquet"):
        assert rolloupe("query", run, *where, "--to", tmp_path / f"out.{ending}").code == 0
    rows = [strict(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["derived.characters"] for row in rows] == [8.0] * 10
    assert "derived.think_chars" in (tmp_path / "out.csv").read_text().splitlines()[0]


def test_to_overwrite_nothing_is_a_mistake(run: Path) -> None:
    done = rolloupe("query", run, "--overwrite")
    assert done.code == 2 and "--to" in done.err


def test_the_table_shows_the_metric_that_it_is_sorted_by(tmp_path: Path) -> None:
    with Recorder(tmp_path, code=None) as recorder:
        recorder.sample(step=0, prompt="p", response="r", reward=1.0, metrics={"turns": 7.5, "count": 8.5})
    for name, shown in (("metric.turns", "7.5"), ("count", "8.5")):
        head, body = (text.split() for text in rolloupe("query", tmp_path, "--sort", name).out.splitlines())
        assert body[head.index(name)] == shown
    assert rolloupe("query", tmp_path, "--sort", "reward").out.split().count("reward") == 1


def test_what_was_not_trained_on_says_why_and_can_be_left_out(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for index in range(2):
            uid = recorder.sample(step=0, group="g", index=index, prompt="p", response="r", reward=1.0)
        recorder.discard(uid, "stale")
        recorder.step_end(0)
    told = [(line["index"], line["discarded"]) for line in rolloupe("query", tmp_path, "--json").lines]
    assert told == [("0", None), ("1", "stale")]
    assert ids(tmp_path, "--where", "discarded is null") == ["train/0/g/0"]
    table = rolloupe("query", tmp_path).out.splitlines()
    assert "discarded" in table[0] and "stale" not in table[1] and "stale" in table[2]
    assert "discarded" not in rolloupe("query", tmp_path, "--where", "discarded is null").out


def test_the_help_names_every_column_that_a_condition_may_name() -> None:
    words = {word.strip(",.`") for word in rolloupe("query", "--help").out.split()}
    assert {*KNOWN} <= words
    assert {*ALIASES} & {"length", "response_length", "prompt_length", "total_length"} <= words
