"""Runs in Relax's layout, made on the spot, and libraries over them."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rolloupe.index import IndexWork, Library, OpenRun, RunSearch
from rolloupe.index.run_scheduler import Clock


def row(step: int, index: int, **more: Any) -> dict[str, Any]:
    """One sample in Relax's keys."""
    return {
        "rollout_id": step, "sample_index": index, "prompt": f"Question {index // 4}?", "response": f"Answer {index}",
        "reward": float(index % 2), "response_length": 10 + index, "status": "completed", "group_index": index // 4,
        **more,
    }  # fmt: skip


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as JSON lines."""
    return b"".join(json.dumps(r).encode() + b"\n" for r in rows)


def relax_run(folder: Path, steps: int = 3, samples: int = 8) -> Path:
    """A run of so many steps; returns its train folder."""
    train = folder / "rollout_result" / "train"
    train.mkdir(parents=True, exist_ok=True)
    for step in range(steps):
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i) for i in range(samples)]))
    return train


def opened(path: Path, index_dir: Path, **options: Any) -> Library:
    """A library over a path whose scalar index is complete."""
    search = RunSearch(**{name: options.pop(name) for name in RunSearch._fields if name in options})
    work = IndexWork(**{name: options.pop(name) for name in IndexWork._fields if name in options})
    library = Library([path], index_dir=index_dir, search=search, work=work, **options)
    for run in library.runs:
        assert run.wait(30)
    return library


def settled(path: Path, index_dir: Path, **options: Any) -> Library:
    """A library over a path that has nothing left to do."""
    library = opened(path, index_dir, **options)
    for run in library.runs:
        assert run.wait_all(60)
    return library


WORK_S = 2.0
"""A thread that is at work for longer than this holds its clock back no more: it may wait for a file."""


class SteppedClock(Clock):
    """The clock of this machine, which a test moves ahead: whatever waits for that time goes on at once.

    While a thread that has waited is at work, the clock stands: a busy machine is no slower by it.
    """

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._waits: dict[threading.Thread, float] = {}
        """When the wait of each thread ends."""
        self._working: dict[threading.Thread, float] = {}
        """Since when each thread that has waited is at work, by the clock of this machine."""

    def now_s(self) -> float:
        return time.monotonic() + self._ahead_s

    def date_s(self) -> float:
        return time.time() + self._ahead_s

    def wait(self, signal: threading.Event | threading.Condition, timeout_s: float) -> bool:
        thread = threading.current_thread()
        self._waits[thread] = ends_s = self.now_s() + timeout_s
        self._working.pop(thread, None)
        try:
            while (left_s := ends_s - self.now_s()) > 0:
                if signal.wait(min(left_s, 0.005)):
                    return True
            return False
        finally:
            self._working[thread] = time.monotonic()
            del self._waits[thread]

    def step(self, seconds: float) -> None:
        """Move ahead."""
        self._ahead_s += seconds

    def skip(self) -> None:
        """Move ahead to the end of the first wait, unless a thread is at work."""
        working = [began_s for thread, began_s in [*self._working.items()] if thread.is_alive()]
        if not any(time.monotonic() - began_s < WORK_S for began_s in working):
            self.step(max(0.0, min([*self._waits.values()], default=0.0) - self.now_s()))

    def pass_by(self, seconds: float) -> None:
        """Move ahead by some seconds, from the end of one wait to the next."""
        ends_s = self.now_s() + seconds
        self.until(lambda: self.now_s() >= ends_s)

    def until(self, check: Callable[[], bool], within_s: float = 3600.0) -> None:
        """Move ahead from the end of one wait to the next until a check holds; fail if it does not."""
        began_s, real_s = self.now_s(), time.monotonic()
        while not check():
            assert self.now_s() < began_s + within_s or time.monotonic() < real_s + 30, "did not come true"
            self.skip()
            time.sleep(0.005)


def eventually(check: Callable[[], bool], within_s: float = 30.0) -> float:
    """Wait until a check holds, fail if it does not; returns the seconds it took."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < within_s:
        if check():
            return waited
        time.sleep(0.01 + waited / 10)  # what takes long is asked for less often
    raise AssertionError(f"did not come true within {within_s} s")


def row_count(run: OpenRun) -> int:
    """How many samples the index holds."""
    return sum(stats.rows for stats in run.snapshot().steps.values())


def tails_of(run: OpenRun) -> int:
    """The number of pieces in memory."""
    return sum(piece.path is None for piece in run.snapshot().holding())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an index folder, temporary ones left out."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.*") if not p.name.startswith(".")}
