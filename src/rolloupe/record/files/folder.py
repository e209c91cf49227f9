"""The files of a run that are not a producer's own: what it is, its configuration, code, attempts and checkpoints."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from rolloupe.errors import UnreadablePath
from rolloupe.model import Checkpoint
from rolloupe.record.files.code import code_diff
from rolloupe.record.files.encoding import COMPACT, encoded
from rolloupe.record.files.launches import Launch, alone
from rolloupe.record.values.plain import jsonable, settings
from rolloupe.storage import atomic

MARKER = "rolloupe.json"
CONFIG = "config.json"
OWN_CONFIG = "config.rolloupe.json"
LAYOUT = "rolloupe"
VERSION = 1
OPEN = ("native", "generic")
"""Formats that are no other tool's: one that begins here, and any JSON lines at all."""

CHECKPOINTS = "checkpoints.jsonl"
ATTEMPTS = "attempts.jsonl"
ENDED = "ended.jsonl"


class Folder:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if isinstance(path, str) and not path:
            raise UnreadablePath("nothing can be recorded at '': an empty path names no folder")
        try:
            self.path = Path(path).expanduser().absolute()
        except (RuntimeError, TypeError, ValueError) as error:
            raise UnreadablePath(f"nothing can be recorded at {str(path)!r}: {error}") from None
        self._is_foreign = False
        """True where a configuration of something else was there before: it is left alone."""

    def make(self, ranges: Mapping[str, Any]) -> None:
        """Make it, or go on with the one there is. Raises `UnreadablePath` where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            held = self._marker()
            self._is_foreign = held is None and (self.path / CONFIG).exists()
            marker = {"layout": LAYOUT, "version": VERSION, **{k: v for k, v in (held or {}).items() if k in ranges}}
            marker |= {key: jsonable(value) for key, value in ranges.items() if value is not None}
            if marker != held:
                self._write(MARKER, json.dumps(marker, indent=2) + "\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UnreadablePath(
                f"nothing can be recorded at {self.path}: {reason}. Next: name another folder"
            ) from None

    def others(self) -> str:
        """The names of the layouts in which another tool has left a run in this very folder; never raises.

        Empty where the recorder has been here before: whoever went on then has been told.
        """
        found = []
        with contextlib.suppress(Exception):
            if self.path.is_dir() and not self.is_made() and any(self.path.iterdir()):
                from rolloupe.formats import FORMATS

                found = [one.name for one in FORMATS if one.name not in OPEN and one.detect(self.path)]
        return ", ".join(found)

    def is_made(self) -> bool:
        """Tell whether the run is there."""
        return (self.path / MARKER).exists()

    def _marker(self) -> dict[str, Any] | None:
        """What the marker says; None where there is none. Raises `OSError`, and `ValueError` for another kind."""
        try:
            data = (self.path / MARKER).read_bytes()
        except FileNotFoundError:
            return None
        try:
            held = json.loads(data)
        except (ValueError, RecursionError):
            raise ValueError(f"its {MARKER} cannot be read") from None
        if not isinstance(held, dict) or held.get("layout") != LAYOUT:
            raise ValueError(f"its {MARKER} is not one of Rolloupe")
        if not isinstance(held.get("version"), int) or held["version"] > VERSION:
            raise ValueError(
                f"it was recorded in version {held.get('version')} of the layout, and {VERSION} is written here: "
                "update Rolloupe"
            )
        return held

    def config(self, config: object) -> None:
        """Keep the configuration; another one than the last is kept beside it. Raises `OSError`."""
        with alone(self.path / ATTEMPTS):
            self._keep(self._config, self.settings(config))

    @property
    def _config(self) -> str:
        return OWN_CONFIG if self._is_foreign or (self.path / OWN_CONFIG).exists() else CONFIG

    def settings(self, config: object) -> str:
        """A configuration as it is kept."""
        return json.dumps(settings(config), indent=2, ensure_ascii=False) + "\n"

    def config_of(self, producer: str, text: str) -> str:
        """Keep the configuration of one of several processes, where it is another; returns the name of its file then.

        Raises `OSError`.
        """
        with alone(self.path / ATTEMPTS):
            place, data = self.path / self._config, text.encode("utf-8", "replace")
            if not place.exists():
                atomic.write(place, data)
            elif place.read_bytes() != data:
                own = place.with_suffix(f".{producer}{place.suffix}").name
                self._keep(own, text)
                return own
            return ""

    def code(self, folder: str | os.PathLike[str]) -> None:
        """Keep what the code differs by; what it differed by before is kept beside it. Raises `OSError`."""
        self.code_as(code_diff(folder))

    def code_as(self, diff: str) -> None:
        """Keep a difference of the code that is known. Raises `OSError`."""
        with alone(self.path / ATTEMPTS):
            self._keep("code.diff", diff)

    def _keep(self, name: str, text: str) -> None:
        """Write a file, after giving another name to what is there already, unless it is the same."""
        place, data = self.path / name, text.encode("utf-8", "replace")
        with contextlib.suppress(FileNotFoundError):
            if place.read_bytes() == data:
                return
            _keep_beside(place)
        atomic.write(place, data)

    def attempt(self, producer: str, launch: Launch, ranks: int | None) -> int | None:
        """Note that a process began to record; returns the launch that it is of. Raises `OSError`."""
        last = self.last_checkpoint()
        with alone(self.path / ATTEMPTS):
            before = list(self._rows(ATTEMPTS))
            joined = None if ranks is None else launch.join(producer, ranks, before)
            of_ranks = {} if ranks is None else {"ranks": ranks, "launch": joined}
            self.append(
                ATTEMPTS,
                {
                    "attempt": len(before) + 1, "producer": producer, "time": time.time(), "pid": os.getpid(),
                    "host": socket.gethostname(), "checkpoint": last.name if last else None, **of_ranks,
                },
            )  # fmt: skip
        return joined

    def ended(self, producer: str) -> None:
        """Note that a process has ended to record. Raises `OSError`."""
        self.append(ENDED, {"producer": producer, "time": time.time(), "pid": os.getpid()})

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Add a line to a file that several processes may write. Raises `OSError`."""
        atomic.append(self.path / name, encoded(record, separators=COMPACT, nan=True))

    def last_checkpoint(self) -> Checkpoint | None:
        """The checkpoint that was noted last."""
        last = None
        for row in self._rows(CHECKPOINTS):
            last = row
        if last is None:
            return None
        step, paths, state = last.get("step"), last.get("paths"), last.get("loop_state")
        return Checkpoint(
            name=str(last.get("name", "")),
            step=step if isinstance(step, int) else None,
            paths={str(k): str(v) for k, v in paths.items()} if isinstance(paths, dict) else {},
            extra=state if isinstance(state, dict) else {},
        )

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        try:
            data = (self.path / name).read_bytes()
        except OSError:
            return
        for line in data.split(b"\n"):
            try:
                row = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row

    def _write(self, name: str, text: str) -> None:
        atomic.write(self.path / name, text.encode("utf-8", "replace"))


def _keep_beside(place: Path) -> None:
    """Give a file another name, too, or where file systems have no links a copy. Raises `OSError`."""
    for number in count(1):
        other = place.with_suffix(f".{number}{place.suffix}")
        try:
            os.link(place, other)
        except FileExistsError:
            continue
        except OSError:
            if other.exists():
                continue
            atomic.write(other, place.read_bytes())
        return
