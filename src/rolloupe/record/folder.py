"""The files of a run that are not a producer's own: what it is, its configuration, code, attempts and checkpoints."""

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rolloupe.errors import UnreadablePath
from rolloupe.model import Checkpoint
from rolloupe.record import whole_files
from rolloupe.record.code import code_diff
from rolloupe.record.lines import encoded
from rolloupe.record.values import jsonable, settings

MARKER = "rolloupe.json"
LAYOUT = "rolloupe"
VERSION = 1
CHECKPOINTS = "checkpoints.jsonl"
ATTEMPTS = "attempts.jsonl"


class Folder:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()

    def make(self, ranges: Mapping[str, Any]) -> None:
        """Make it, or go on with the one there is. Raises `UnreadablePath` where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            held = self._marker()
            if held.get("version", VERSION) > VERSION:
                raise UnreadablePath(
                    f"{self.path} was recorded in version {held['version']} of the layout, and {VERSION} is written "
                    "here. Next: update Rolloupe, or record to another folder"
                )
            marker = {"layout": LAYOUT, "version": VERSION, **{k: v for k, v in held.items() if k in ranges}}
            marker |= {key: value for key, value in ranges.items() if value is not None}
            if marker != held:
                self._write(MARKER, json.dumps(jsonable(marker), indent=2) + "\n")
        except OSError as error:
            raise UnreadablePath(
                f"nothing can be recorded at {self.path}: {error.strerror or error}. Next: name another folder"
            ) from None

    def _marker(self) -> dict[str, Any]:
        try:
            held = json.loads((self.path / MARKER).read_bytes())
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) and isinstance(held.get("version", 0), int) else {}

    def config(self, config: object) -> None:
        """Keep the configuration; another one than the last is kept beside it. Raises `OSError`."""
        text = json.dumps(settings(config), indent=2, ensure_ascii=False) + "\n"
        place = self.path / "config.json"
        if place.exists():
            if place.read_bytes() == text.encode("utf-8", "replace"):
                return
            number = next(n for n in range(1, 10**6) if not (self.path / f"config.{n}.json").exists())
            place.rename(self.path / f"config.{number}.json")
        self._write("config.json", text)

    def code(self, folder: str | os.PathLike[str]) -> None:
        """Keep what the code differs by. Raises `OSError`."""
        self._write("code.diff", code_diff(folder))

    def attempt(self, producer: str) -> None:
        """Note that a process began to record. Raises `OSError`."""
        last = self.last_checkpoint()
        self.append(
            ATTEMPTS,
            {
                "attempt": sum(1 for _ in self._rows(ATTEMPTS)) + 1, "producer": producer, "time": time.time(),
                "pid": os.getpid(), "host": socket.gethostname(), "checkpoint": last.name if last else None,
            },
        )  # fmt: skip

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Add a line to a file that several processes may write. Raises `OSError`."""
        whole_files.append(self.path / name, encoded(record) + b"\n")

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
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row

    def _write(self, name: str, text: str) -> None:
        whole_files.write(self.path / name, text.encode("utf-8", "replace"))
