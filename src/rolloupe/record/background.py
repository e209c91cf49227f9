"""The writing thread behind a bounded queue, so that training does not wait, and the counts of what is lost.

A full queue drops its oldest token series. It keeps texts and numbers until they alone take twice its capacity, as when
a disk hangs for an hour; then it refuses new lines. With `on_full="block"` the caller waits instead.
"""

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rolloupe.record.failures import Trouble
from rolloupe.record.lines import COMPACT, Lines, encoded
from rolloupe.record.token_series import Array, facts, import_arrow, write_part

LINES = {"metrics": "lines of metrics"}
"""The words for lines of a kind, if they differ from its name."""

REST_S = 1.0
"""Lines wait at most this long before they are written, so that a viewer shows them within two seconds."""

LINES_SHARE = 2
"""Lines without token series may take this many times the capacity."""

BATCH_BYTES = 32 * 2**20
"""A part is written when this many bytes wait for it."""


class QueuedLine:
    """A line that waits to be written: its file, its record, and its token series."""

    __slots__ = ("dropped", "kind", "record", "series", "size_bytes")

    def __init__(self, kind: str, record: dict[str, Any], series: Mapping[str, Array], text_bytes: int) -> None:
        self.kind = kind
        self.record = record
        self.series = series
        self.dropped: list[str] = []
        self.size_bytes = text_bytes + self.series_bytes

    @property
    def series_bytes(self) -> int:
        """Size of its token series in bytes."""
        return sum(values.nbytes for values in self.series.values())

    def shed(self) -> int:
        """Drop the token series; returns how many bytes that frees."""
        freed, self.dropped, self.series = self.series_bytes, [*self.series], {}
        self.size_bytes -= freed
        return freed


class Background:
    """Writes the files of one producer. The writing thread calls `seen` with each line before it writes the line."""

    def __init__(
        self,
        root: Path,
        producer: str,
        *,
        capacity_bytes: int,
        block: bool,
        seen: Callable[[QueuedLine], None],
        trouble: Trouble,
    ) -> None:
        self._tokens = root / "tokens" / producer
        self.dropped = 0
        """How many token series were dropped because the queue was full."""
        self._lost = 0
        self._capacity = capacity_bytes
        self._block = block
        self._seen = seen
        self._trouble = trouble
        self._files = {kind: Lines(root, kind, producer) for kind in ("samples", "annotations", "metrics")}
        self._losses = Lines(root, "losses", producer)
        self._noting = threading.Lock()
        self._part = 0
        """The number of the last part that this producer has written."""
        with contextlib.suppress(OSError):
            parts = [path.name.partition(".")[0] for path in self._tokens.glob("*.parquet")]
            self._part = max((int(name) for name in parts if name.isdecimal()), default=0)
        self._queue: deque[QueuedLine] = deque()
        self._rich: deque[QueuedLine] = deque()
        """The queued lines that have token series."""
        self._queued_bytes = 0
        self._put_count = self._done = 0
        self._urgent = self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def vanished(self) -> int:
        """How often a file that had been written to was gone."""
        return sum(file.vanished for file in self._files.values())

    @property
    def lost(self) -> int:
        """How many recorded lines and token series will never be in a file."""
        with self._changed:
            return self._lost + self.dropped

    def _lose(self, reason: BaseException | str, items: Sequence[QueuedLine]) -> None:
        with self._changed:
            self._lost += len(items)
        places = Counter((LINES.get(item.kind, item.kind), item.record.get("step")) for item in items)
        for (what, step), count in places.items():
            first = "" if step is None else f"{count:,} {what} of step {step}"
            self._trouble.report(reason, count, first=first, what=what, step=step)

    def _note_losses(self) -> None:
        """Write the losses into the run's files; if the disk is still full, the next call tries again."""
        with self._noting:
            if losses := self._trouble.losses():
                rows = [{**loss._asdict(), "count": count, "time": time.time()} for loss, count in losses.items()]
                with contextlib.suppress(Exception):
                    self._losses.append([encoded(row, separators=COMPACT) for row in rows])
                    self._trouble.forget(losses)

    @property
    def waiting(self) -> int:
        """How many lines still wait to be written."""
        return self._put_count - self._done

    def claim(self) -> bool:
        """Claim the producer's name for this process; False if another live process has it. Raises `OSError`."""
        return self._files["samples"].claim()

    def put(self, item: QueuedLine) -> None:
        """Queue a line for writing."""
        with self._changed:
            while self._queued_bytes + item.size_bytes > self._capacity and self._queue:
                if self._block:
                    self._hurry()
                    self._changed.wait(REST_S)
                    continue
                oldest = self._rich.popleft() if self._rich else item
                if not oldest.series:
                    break
                self.dropped += len(oldest.series)
                freed_bytes = oldest.shed()
                if oldest is not item:
                    self._queued_bytes -= freed_bytes
            if not self._block and self._queue and self._queued_bytes + item.size_bytes > LINES_SHARE * self._capacity:
                self._lose(f"{item.kind}: nothing was written for so long that the queue is full", [item])
                return
            self._queue.append(item)
            if item.series:
                self._rich.append(item)
                import_arrow()
            self._queued_bytes += item.size_bytes
            self._put_count += 1
            self._start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until every queued line is written or has failed."""
        with self._changed:
            wanted = self._put_count
            while self._done < wanted:
                self._hurry()
                self._changed.wait(REST_S)
        self._note_losses()

    def _hurry(self) -> None:
        self._urgent = True
        self._start()
        self._changed.notify_all()

    def close(self) -> None:
        """Write the queued lines, end the thread and close the files."""
        self.flush()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self.abandon()

    def abandon(self) -> None:
        """Close the files without writing, as a forked process must: they belong to its parent."""
        for file in (*self._files.values(), self._losses):
            file.close()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._loop, name="rolloupe recorder", daemon=True)
            self._thread.start()

    def _loop(self) -> None:
        while lines := self._wait_for_lines():
            groups: list[list[QueuedLine]] = [[]]
            size_bytes = 0
            for item in lines:  # each group is for a part of bounded size
                if size_bytes >= BATCH_BYTES:
                    groups.append([])
                    size_bytes = 0
                groups[-1].append(item)
                size_bytes += item.size_bytes
            for group in groups:
                try:
                    self._write(group)
                except BaseException as error:  # callers must not wait for ever
                    self._lose(error, group)
                finally:
                    with self._changed:
                        self._queued_bytes -= sum(item.size_bytes for item in group)
                        self._done += len(group)
                        self._changed.notify_all()
                self._note_losses()

    def _wait_for_lines(self) -> list[QueuedLine]:
        """Wait for lines that are due, and return them; none once the recorder is closed."""
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            until = time.monotonic() + REST_S
            enough_bytes = min(BATCH_BYTES, self._capacity // 2)
            while self._queue and not (self._urgent or self._closed or self._queued_bytes >= enough_bytes):
                if (rest := until - time.monotonic()) <= 0:
                    break
                self._changed.wait(rest)
            lines = list(self._queue)
            self._queue.clear()
            self._rich.clear()
            self._urgent = False
            self._changed.notify_all()
        return lines

    def _write(self, batch: list[QueuedLine]) -> None:
        """Write the part first, so that no line names a part that does not exist."""
        for item in batch:
            try:
                self._seen(item)
                if series_facts := facts(item.series):
                    item.record["series"] = {"facts": series_facts}
            except Exception as error:  # an error in derived metrics must not cost the sample
                self._trouble.report(error)
        if with_series := [item for item in batch if item.series]:
            self._part += 1
            try:
                path = self._tokens / f"{self._part:06d}.parquet"
                write_part(path, [(item.record.get("uid", ""), item.series) for item in with_series])
                for row, item in enumerate(with_series):
                    item.record["series"] = {"part": self._part, "row": row, **item.record.get("series", {})}
            except Exception as error:
                self._trouble.report(error, len(with_series), "token series")
                for item in with_series:
                    self.dropped += len(item.series)
                    item.shed()
        for kind, file in self._files.items():
            self._append(file, [item for item in batch if item.kind == kind])

    def _append(self, file: Lines, items: list[QueuedLine]) -> None:
        lines: dict[QueuedLine, bytes] = {}
        for item in items:
            if item.dropped:
                item.record["dropped"] = item.dropped
                item.record.pop("series", None)
            try:
                lines[item] = encoded(item.record, separators=COMPACT, nan=True)
            except Exception as error:
                self._lose(error, [item])
        try:
            file.append([*lines.values()])
        except Exception as error:
            self._lose(error, [*lines])
