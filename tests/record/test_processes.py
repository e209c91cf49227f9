"""Processes that record at once, and processes that are killed."""

import json
from pathlib import Path

import rolloupe
from tests.forks import program
from tests.record.kills import check, kill_recorders
from tests.thoroughness import amount

STEPS = amount(5, 20)

PROGRAM = """
import os, sys
from rolloupe.record import Recorder

if sys.argv[2] in "0123":  # four of them are ranks
    os.environ |= {"RANK": sys.argv[2], "WORLD_SIZE": "4"}
with Recorder(sys.argv[1], code=None, strict=True, config={"number": sys.argv[2]}) as record:
    record.sample(step=0, group=0, index=f"{sys.argv[2]}-0", response="x" * 2000, series={"a": [1.0] * 50})
    print("begun", flush=True)
    sys.stdin.readline()  # until all have
    for step in range(int(sys.argv[3])):
        for index in range(step == 0, 10):
            record.sample(
                step=step, group=0, index=f"{sys.argv[2]}-{index}", response="x" * 2000, series={"a": [1.0] * 50}
            )
        record.metrics(step, {f"loss/{sys.argv[2]}": 1.0})
        record.step_end(step)
"""


def test_what_was_acknowledged_survives_the_death_of_the_process(tmp_path: Path) -> None:
    acknowledged = kill_recorders(tmp_path / "run", kills=amount(3, 8))
    assert acknowledged
    check(tmp_path / "run", tmp_path / "index", acknowledged)


def test_eight_processes_write_one_run_at_once(tmp_path: Path) -> None:
    started = [program(PROGRAM, str(tmp_path / "run"), str(n), str(STEPS)) for n in range(8)]
    for process in started:
        assert process.stdout.readline() == b"begun\n"
    for process in started:
        process.stdin.write(b"\n")
    assert [process.wait(120) for process in started] == [0] * 8
    for process in started:
        process.close()
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        run = runs.runs[0]
        assert run.problems() == []
        found = {(sample.key.step, sample.key.index) for sample in run.samples()}
        assert found == {(step, f"{n}-{index}") for step in range(STEPS) for n in range(8) for index in range(10)}
        assert run.config["number"] in map(str, range(8))
        kept = {json.loads(path.read_bytes())["number"] for path in (tmp_path / "run").glob("config*.json")}
        assert kept == set(map(str, range(8)))
        assert {name for name in run.metric_names() if name.startswith("loss/")} == {f"loss/{n}" for n in range(8)}
        (series,) = run.sample(f"train/{STEPS - 1}/0/7-9").series
        assert list(series.values) == [1.0] * 50
