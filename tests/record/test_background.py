"""The thread that writes: a disk that is slow, full or gone costs as little as can be, and nothing waits for ever."""

import errno
import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rolloupe.record import Recorder, RecorderWarning
from rolloupe.record.lines import Lines
from tests.forks import program
from tests.record.support import opened, recorder, series


class Gate:
    """Where lines are to be written, the thread that does waits until it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._reached, self._open, append = threading.Event(), threading.Event(), Lines.append

        def waiting(lines: Lines, some: Any) -> None:
            self._reached.set()
            self._open.wait(30)
            append(lines, some)

        monkeypatch.setattr(Lines, "append", waiting)

    def stop(self, record: Recorder) -> None:
        """Wait until the thread stands here, what was recorded so far in its hands: all else waits behind it."""
        threading.Thread(target=record.flush, daemon=True).start()
        assert self._reached.wait(30)

    def open(self) -> None:
        self._open.set()


def test_when_writing_does_not_keep_up_the_oldest_series_go_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    with recorder(tmp_path / "run", capacity_bytes=200_000) as record:
        for index in range(40):
            record.sample(step=0, group="g", index=index, response=f"text {index}", series={"a": np.zeros(2000)})
            if not index:
                gate.stop(record)
        gate.open()
        record.step_end(0)
        dropped = record.failures["token series dropped"]
    run = opened(tmp_path / "run")
    samples = list(run.samples())
    assert [sample.response for sample in samples] == [f"text {index}" for index in range(40)]
    loaded = [run.sample(sample.key) for sample in samples]
    without = [at for at, sample in enumerate(loaded) if not sample.series]
    assert 0 < dropped == len(without) < 40
    assert loaded[-1].series
    assert all("no room left: a" in loaded[at].notes[0] for at in without)
    assert run.metrics("recorder/token_series_dropped")[0].value == dropped
    (problem,) = run.problems()
    assert problem.reason.startswith(f"{dropped} token series were not written")


def test_where_nothing_is_written_for_long_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    record = recorder(tmp_path / "run", capacity_bytes=200_000, strict=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for index in range(100):
            record.sample(step=0, group="g", index=index, response="\N{SNOWMAN}" * 5_000)
            if not index:
                gate.stop(record)
    gate.open()
    record.close()
    (warned,) = told
    assert "the queue is full" in str(warned.message)
    (lost,) = record.failures.values()
    indexes = [sample.key.index for sample in opened(tmp_path / "run").samples()]
    assert indexes == [str(index) for index in range(100 - lost)]
    assert 20 <= len(indexes) <= 40  # of 10 kB each


FULL = """
import resource, sys, warnings
import numpy as np
from rolloupe.record import Recorder

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
with Recorder(sys.argv[1], code=None) as record:
    for index in range(3):
        if index == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        size = 60_000 if index == 1 else 1000
        record.sample(step=0, group="g", index=index, series={"a": np.random.default_rng(0).normal(size=size)})
        record.flush()
    print(*record.failures)
"""


@pytest.mark.slow
def test_a_disk_that_is_full_within_a_part_costs_its_series_alone(tmp_path: Path) -> None:
    printed, _ = program(FULL, str(tmp_path / "run")).communicate(60)
    assert b"token series: OSError" in printed and b"token series dropped" in printed
    assert [path.name for path in (tmp_path / "run/tokens/rank0").iterdir() if path.name.startswith(".")] == []
    run = opened(tmp_path / "run")
    assert [len(run.sample(f"train/0/g/{index}").series) for index in range(3)] == [1, 0, 1]
    assert run.sample("train/0/g/1").notes == ["not written, because the recorder had no room left: a"]
    assert run.problems() == []


def test_block_waits_and_loses_nothing(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", capacity_bytes=50_000, on_full="block") as record:
        for index in range(60):
            record.sample(step=0, group="g", index=index, series={"a": np.full(2000, index)})
        record.flush()
        assert record.failures == {}
    run = opened(tmp_path / "run")
    assert [series(run.sample(sample.key))["a"][0] for sample in run.samples()] == list(range(60))


def test_a_full_disk_ends_nothing_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, write = recorder(tmp_path / "run", strict=False), os.write
    full = threading.Event()

    def writing(handle: int, data: Any) -> int:
        if full.is_set() and len(data) > 5:
            if len(data) > 20:
                return write(handle, bytes(data)[:10])  # a part of it still fits
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    record.sample(step=0, group="g", index="before")
    record.flush()
    monkeypatch.setattr("rolloupe.record.lines.os.write", writing)
    full.set()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for index in range(3):
            record.sample(step=0, group="g", index=index)
            record.flush()
    assert [warning.category for warning in told] == [RecorderWarning]
    full.clear()
    record.sample(step=0, group="g", index="after")
    record.close()
    assert sum(record.failures.values()) == 3
    run = opened(tmp_path / "run")
    assert [sample.key.index for sample in run.samples()] == ["before", "after"]
    assert [one.reason for one in run.problems()] == ["3 samples of step 0 were lost: disk full"]


def test_a_run_that_vanished_is_made_again_and_its_loss_is_told(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        record.sample(step=0, group="g", index="before", series={"a": [1.0]})
        record.flush()
        shutil.rmtree(tmp_path / "run")
        record.sample(step=0, group="g", index="after", series={"a": [2.0]})
        with pytest.warns(RecorderWarning, match="are gone"):
            record.step_end(0)
    run = opened(tmp_path / "run")
    assert [series(run.sample(sample.key)) for sample in run.samples()] == [{"a": [2.0]}]


def test_trouble_of_the_writing_thread_hangs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Lines.append

    def fail(file: Lines, some: Any) -> None:
        if file.path.parent.name != "losses":
            raise SystemExit("no more")
        append(file, some)

    monkeypatch.setattr(Lines, "append", fail)
    record = recorder(tmp_path / "run", strict=False)  # warnings are errors in this test
    record.sample(step=0)
    record.step_end(0)
    record.close()
    assert record.failures == {"SystemExit: no more": 2}


INTERRUPTED = """
import sys
from rolloupe.record import Recorder
from rolloupe.record.background import Background

def interrupted(background):
    Background.flush = flush
    raise KeyboardInterrupt

record = Recorder(sys.argv[1], code=None)
for index in range(3):
    record.sample(step=0, group="g", index=index)
flush, Background.flush = Background.flush, interrupted
try:
    record.close()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_what_waits_when_close_is_interrupted_is_told_and_written_at_the_end(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "run"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "interrupted\n"
    assert "close() was interrupted; lines not yet written: 3" in done.stderr
    assert len(list(opened(tmp_path / "run").samples())) == 3


def test_close_after_an_interrupted_one_writes_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    record = recorder(tmp_path / "run", strict=False)
    record.sample(step=0, group="g", index=0)
    monkeypatch.setattr("rolloupe.record.background.Background.flush", interrupted)
    with pytest.warns(RecorderWarning, match="not yet written: 1"), pytest.raises(KeyboardInterrupt):
        record.close()
    with pytest.warns(RecorderWarning, match="the recorder is closed"):
        record.sample(step=0, group="g", index="late")
    record.close()
    assert [sample.key.index for sample in opened(tmp_path / "run").samples()] == ["0"]
