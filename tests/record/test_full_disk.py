"""A disk that is full while a run is recorded: `step_end` tells whether the step stands."""

import errno
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.record import Recorder
from rolloupe.record.lines import Lines
from tests.cli.support import rolloupe as command_line
from tests.disks import on_small_disk
from tests.record.test_background import Gate

SCRIPT = """
import json, sys, threading, warnings
from pathlib import Path
import numpy as np
from rolloupe.record import Recorder
from tests.disks import fill

warnings.simplefilter("ignore")
sys.modules["pandas"] = None  # Arrow would import it
disk = Path(sys.argv[1])
answers = {}
with Recorder(disk / "run", code=None) as record:
    def step(number, name, **sample):
        record.sample(step=number, group="g", index=0, response="a" * 9000, **sample)
        answers[name] = record.step_end(number)

    step(0, "room")
    filler = fill(disk)
    step(1, "full")
    for name in ("samples", "annotations", "metrics"):
        record.sample(step=3, group="g", index=name, response="a" * 9000)
    record.flush()
    filler.unlink()
    step(3, "lost by a flush before there was room")
    step(4, "room again", series={"a": np.random.default_rng(0).normal(size=1000)})
    filler = fill(disk)
    with filler.open("r+b") as file:  # room for the lines, not for the token series
        file.truncate(filler.stat().st_size - 65536)
    step(5, "full for token series", series={"a": np.random.default_rng(0).normal(size=60_000)})
    filler.unlink()
    threads = [threading.Thread(target=record.sample, kwargs={"step": 6, "index": n, "prompt": "?"}) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    step(6, "recorded by threads")
steps = [json.loads(one)["step"] for one in (disk / "run/samples/rank0.jsonl").read_text().splitlines()]
print(json.dumps({"answers": answers, "failures": record.failures, "steps": steps}))
"""


def test_a_step_that_was_not_written_is_not_acknowledged(tmp_path: Path) -> None:
    line = on_small_disk(1_000_000, tmp_path / "disk", [sys.executable, "-c", SCRIPT, str(tmp_path / "disk")])
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["answers"] == {
        "room": True,
        "full": False,
        "lost by a flush before there was room": False,
        "room again": True,
        "full for token series": False,
        "recorded by threads": True,
    }
    assert told["steps"] == [0, 3, 4, 5, *[6] * 9], "what was acknowledged is there"
    assert any("No space left" in reason for reason in told["failures"])


LOSING = """
import json, shutil, sys, warnings
from pathlib import Path
from rolloupe.record import Recorder
from tests.disks import fill

disk = Path(sys.argv[1])
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with Recorder(disk / "run", code=None) as record:
        uid = record.sample(step=0, group="g", response="a" * 9000)
        record.step_end(0)
        filler = fill(disk)
        for index in range(12):
            record.sample(step=3, group="g", index=index, response="b" * 9000)
        record.annotate(uid, tags={"long": "b" * 9000})
        record.flush()
        filler.unlink()
        record.sample(step="three")
        record.samples([{"step": 4, "group": "g", "reward": "bad"}, 5, {"step": 4, "group": "g", "index": "last"}])
        record.step_end(4)
    with Recorder(disk / "run", code=None, producer="late") as record:
        filler = fill(disk)
        for index in range(2):
            record.sample(step=6, group="g", index=index, response="b" * 9000)
filler.unlink()
shutil.copytree(disk / "run", sys.argv[2])
print(json.dumps([str(one.message) for one in told]))
"""


def test_what_was_lost_is_a_problem_of_the_run_once_there_is_space(tmp_path: Path) -> None:
    run = tmp_path / "run"
    line = on_small_disk(1_000_000, tmp_path / "disk", [sys.executable, "-c", LOSING, str(tmp_path / "disk"), str(run)])
    told = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    # the writer may have taken the twelve in two parts
    assert re.search(r"No space left on device\. First: \d+ samples of step 3", told[0]), told[0]
    assert told[-1] == "lost, and the run's files do not say so: 2 samples of step 6 (disk full)"
    lost = {
        "12 samples of step 3 were lost: disk full",
        "1 annotation was lost: disk full",
        "1 sample was lost: TypeError: step: expected a whole number, got str; this was not recorded",
        "1 sample was lost: TypeError: 'int' object is not iterable",
        "1 value of step 4 was left out: reward: TypeError: expected a number, got a string",
    }
    with rolloupe.open(run, index_dir=tmp_path / "index") as runs:
        assert {one.reason for one in runs[0].problems()} == lost
        assert runs[0].problem_count() == 5
        assert len(list(runs[0].samples())) == 3, "what one of a list lacks costs no other"
        (broken,) = [one for one in runs[0].lint().broken if one.rule == "lost_data"]
        assert (broken.count, broken.is_certain) == (5, True) and "12 samples of step 3 were lost" in broken.text
    for command in ("doctor", "lint"):
        done = command_line(command, run, "--index-dir", tmp_path / "index")
        assert "12 samples of step 3 were lost: disk full" in " ".join(done.out.split())


def test_a_disk_that_is_full_for_many_steps_causes_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, append = [True], Lines.append

    def failing(lines: Lines, some: Any) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(lines, some)

    monkeypatch.setattr(Lines, "append", failing)
    with Recorder(tmp_path / "run", code=None) as record, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(60):
            record.sample(step=step, group="g")
            record.flush()
        assert len(told) == 1
        full[0] = False
        record.flush()
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        reasons = [one.reason for one in runs[0].problems()]
    assert reasons[:2] == [f"1 sample of step {step} was lost: disk full" for step in (0, 1)]
    assert reasons[50:] == ["10 more were lost at other steps"]


def test_a_hostile_file_of_losses_is_read_within_bounds(tmp_path: Path) -> None:
    Recorder(tmp_path / "run", code=None).close()
    rows: list[dict[str, Any]] = [{"what": ["x"] * 9, "step": 10**30, "reason": {"a": "b" * 9999}, "count": "9"}, {}]
    rows += [{"what": "samples", "step": step, "reason": "r", "count": 1} for step in range(20_000)]
    (tmp_path / "run/losses").mkdir()
    (tmp_path / "run/losses/a.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n[1]\n{")
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        reasons = [one.reason for one in runs[0].problems()]
    assert "19,950 more were lost at other steps" in reasons and len(reasons) < 60
    assert max(map(len, reasons)) < 2000


def test_a_step_of_which_nothing_can_be_written_is_not_acknowledged(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = Recorder(tmp_path / "run", code=None)
        assert record.step_end(0) is True
        assert record.step_end("nonsense") is False  # type: ignore[pyrefly:bad-argument-type]
        assert record.step_end(1) is True
        record.close()
        assert record.step_end(2) is False


def test_token_series_that_were_let_go_are_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    with Recorder(tmp_path / "run", code=None, capacity_bytes=20_000) as record:
        for index in range(4):
            record.sample(step=0, group="g", index=index, series={"a": [0.5] * 3000})
            if not index:
                gate.stop(record)
        gate.open()
        assert record.step_end(0) is False
        record.sample(step=1, group="g", series={"a": [0.5] * 10})
        assert record.step_end(1) is True
