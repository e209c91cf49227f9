"""Files of a run that are sent elsewhere while it is recorded: what arrives, in which order, and what is said."""

import contextlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.record import RecorderWarning, upload
from rolloupe.record.upload.delivery import Delivery, FileVersion, FolderTarget, files_in, target_of
from tests.forks import Fork, program

SENDS = "import sys; from rolloupe.record.upload import delivery; sys.exit(delivery.main(*sys.argv[1:]))"


@pytest.fixture
def sooner(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the processes that send sooner."""
    started: list[Fork] = []

    def start(folder: Path, target: str) -> Fork:
        started.append(program(SENDS, str(folder), target))
        return started[-1]

    monkeypatch.setattr(upload, "start", start)
    yield
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)  # one that was left alone
        process.close()


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait for another process."""
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


def record(recorder: Recorder, step: int) -> None:
    for index in range(4):
        recorder.sample(
            step=step, group="g", index=index, prompt="p", response="r", reward=1.0, series={"logprobs": [-1.0]}
        )
    recorder.metrics(step, {"loss": 0.5})
    recorder.step_end(step)


@pytest.mark.usefixtures("sooner")
def test_all_files_are_there_when_the_recorder_is_closed(tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "far" / "run"
    for launch in range(2):
        with Recorder(run, code=None, config={"lr": launch}, upload=target) as recorder:
            record(recorder, launch)
        assert contents(target) == contents(run) and len(contents(run)) > 5
    with rolloupe.open(target, index_dir=tmp_path / "index") as runs:
        assert [step.samples for step in runs.only().steps()] == [4, 4]


def test_a_reader_never_meets_samples_without_their_tokens(tmp_path: Path) -> None:
    run, far = tmp_path / "run", tmp_path / "far"
    recorder = Recorder(run, code=None)
    seen: list[str] = []
    read: set[str] = set()

    class Watched(FolderTarget):
        def put(self, name: str, path: Path, size: int) -> None:
            record(recorder, 2 + len(seen))  # the trainer goes on meanwhile
            super().put(name, path, size)
            seen.append(name)
            if "rolloupe.json" in seen and len(seen) % 6 == 0:
                with rolloupe.open(far, index_dir=tmp_path / "index") as runs:
                    found = runs.only()
                    assert not found.problems()
                    for sample in found.samples(split="train") if found.splits() else ():
                        if str(sample.key) not in read:
                            assert found.tokens(sample.key).series
                            read.add(str(sample.key))

    delivery = Delivery(run, Watched(far))
    record(recorder, 0)
    for _ in range(2):
        delivery.send(delivery.waiting(), lambda _: None)
    recorder.close()
    delivery.send(delivery.waiting(), lambda _: None)
    assert seen[-1] == "ended.jsonl" and contents(far) == contents(run) and len(read) > 8


def test_only_what_changed_is_sent_again_by_whichever_process(tmp_path: Path) -> None:
    run, far = tmp_path / "run", tmp_path / "far"
    with Recorder(run, code=None) as recorder:
        record(recorder, 0)
    first = Delivery(run, FolderTarget(far))
    whole = first.waiting()
    assert [*whole][-1] == "ended.jsonl" and not any(name.startswith(".") for name in whole)
    left: list[int] = []
    first.send(whole, lambda rest: left.append(len(rest)))
    assert left == [*reversed(range(len(whole)))] and not first.waiting()
    assert [*Delivery(run, FolderTarget(far)).waiting()] == ["rolloupe.json"], "the few files that do not grow"
    with (run / "metrics/rank0.jsonl").open("a") as file:
        file.write("{}\n")
    (run / "config.json").write_text("{}")
    assert [*first.waiting()] == ["config.json", "metrics/rank0.jsonl"]
    assert [*Delivery(run, FolderTarget(far)).waiting()] == ["config.json", "rolloupe.json", "metrics/rank0.jsonl"]


def test_a_file_that_becomes_shorter_is_sent_another_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"short")
    with pytest.raises(OSError, match="became shorter"):
        FolderTarget(tmp_path / "far").put("file", tmp_path / "file", 10)
    assert not contents(tmp_path / "far")


def test_a_run_is_not_sent_into_itself(tmp_path: Path) -> None:
    for inside in (tmp_path, tmp_path / "copy"):
        with pytest.raises(OSError, match="its own folder"):
            target_of(str(inside), tmp_path)


@pytest.mark.usefixtures("sooner")
def test_what_cannot_be_sent_is_said_and_sent_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "WAIT_S", 0.01)
    run, target = tmp_path / "run", tmp_path / "far"
    target.write_text("a file is in the way")
    with (
        warnings.catch_warnings(record=True, action="always") as told,
        Recorder(run, code=None, upload=target) as recorder,
    ):
        record(recorder, 0)
        while not told:
            recorder.flush()
    monkeypatch.setattr(upload, "WAIT_S", 60.0)
    said = "\n".join(str(one.message) for one in told)
    assert (
        f"not uploaded yet to {target}: " in said
        and "files of the run, " in said
        and said.count("Not a directory") == 2
    )
    target.unlink()
    with Recorder(run, code=None, upload=target):
        pass
    assert contents(target) == contents(run)


def test_two_runs_never_mix_at_one_place(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "samples.jsonl").write_text(name)
    far = FolderTarget(tmp_path / "far")
    for _ in range(2):  # and again by another process
        delivery = Delivery(tmp_path / "first", far)
        delivery.send(delivery.waiting(), lambda _: None)
    second = Delivery(tmp_path / "second", far)
    with pytest.raises(OSError, match=r"the run of another folder is there, .* Next: name another place"):
        second.send(second.waiting(), lambda _: None)
    assert contents(tmp_path / "far") == {"samples.jsonl": b"first"}


def test_a_process_that_cannot_start_costs_nothing_but_the_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with (
        pytest.warns(RecorderWarning, match="nothing is uploaded to"),
        Recorder(tmp_path / "run", code=None, upload=tmp_path / "far") as recorder,
    ):
        record(recorder, 0)
    assert (tmp_path / "run/samples/rank0.jsonl").stat().st_size


KILLED = """
import os, signal, sys, warnings
from rolloupe import Recorder
warnings.simplefilter("ignore")  # of a fork with threads
recorder = Recorder(sys.argv[1], code=None, upload=sys.argv[2])
recorder.sample(step=0, group="g", prompt="p", response="r", reward=1.0, series={"logprobs": [-1.0]})
recorder.step_end(0)
if os.fork() == 0:  # a worker that holds copies of the pipes, and goes on
    recorder.sample(step=0, group="g", prompt="p", response="of the worker", reward=0.0)
    recorder.close()
    os._exit(0)
os.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_rest_is_sent_after_the_trainer_was_killed(tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "far"
    trainer = program(KILLED, str(run), str(target))
    assert trainer.wait(60) == -signal.SIGKILL
    wait_until(lambda: contents(target) == contents(run))
    assert b"of the worker" in b"".join(contents(target).values())
    trainer.close()


def test_states_are_those_of_regular_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / ".hidden").touch()
    assert files_in(tmp_path) == {"a": FileVersion(3, (tmp_path / "a").stat().st_mtime_ns)}
