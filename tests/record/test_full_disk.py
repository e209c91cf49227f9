"""A disk that is full while a run is recorded: `step_end` tells whether the step stands."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from rolloupe.record import Recorder
from tests.disks import on_small_disk
from tests.record.test_background import Gate

SCRIPT = """
import json, sys, threading, warnings
from pathlib import Path
import numpy as np
from rolloupe.record import Recorder
from tests.disks import fill

warnings.simplefilter("ignore")
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


def test_a_step_of_which_nothing_can_be_written_is_not_acknowledged(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = Recorder(tmp_path / "run", code=None)
        assert record.step_end(0) is True
        assert record.step_end("nonsense") is False  # type: ignore[arg-type]
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
