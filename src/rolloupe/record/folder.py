"""The files of a run that all its processes share: marker, configuration, code, launches, attempts and checkpoints."""

import contextlib
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from rolloupe.errors import UnreadablePath
from rolloupe.model import Checkpoint
from rolloupe.record.lines import COMPACT, encoded, is_taken
from rolloupe.record.plain import jsonable, object_in, settings, word
from rolloupe.storage import atomic, is_remote, place_of

TIMEOUT_S = 10.0
MAX_BYTES = 8 * 2**20
MAX_UNTRACKED = 1_000


PATIENCE_S = 5.0
"""Seconds to wait while other processes start: a stopped process must not block training."""

own_launches: set[tuple[int, str, int]] = set()
"""The launches that this process was part of: if it reopens its run, as notebooks do, it continues its launch."""


class Launch:
    """The launch of a process; holds the launch's lock until `close`. Each line of a run names its launch.

    A run that resumes from a checkpoint records some steps again, perhaps with other groups or another number of ranks.
    Each line names its launch, and only the last launch of a step counts, so the two recordings do not mix. A new
    launch begins if no process of the last one is alive, and this process was already part of it or reports another
    number of ranks. A late rank joins the current launch, and so does a process that opens its run again. All processes
    of a launch share a lock that shows which of them are alive, so no process needs to know another.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._handle: int | None = None

    def join(self, producer: str, ranks: int, rows: Sequence[Mapping[str, Any]]) -> int:
        """Return the launch number of a process with this many ranks, after the launches in `rows`; call it in `alone`.

        Raises `OSError`.
        """
        valid_rows = [
            row
            for row in rows
            if all(isinstance(row.get(key), int) and 0 < row[key] < 2**31 for key in ("launch", "ranks"))
        ]
        last, last_ranks = (valid_rows[-1]["launch"], valid_rows[-1]["ranks"]) if valid_rows else (1, ranks)
        was_there = any(row.get("producer") == producer for row in valid_rows if row["launch"] == last)
        is_ours = (os.getpid(), str(self._root), last) in own_launches
        is_next = ((was_there and not is_ours) or last_ranks != ranks) and not self._lives(last)
        number = last + 1 if is_next else last
        own_launches.add((os.getpid(), str(self._root), number))
        self.close()
        self._handle = os.open(self._place(number), os.O_RDWR | os.O_CREAT, 0o644)
        is_taken(self._handle, is_shared=True)
        return number

    def close(self) -> None:
        """Release the lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _lives(self, number: int) -> bool:
        """Return whether a process of a launch is alive; always False on a file system without locks."""
        if not self._place(number).exists():
            return False
        handle = os.open(self._place(number), os.O_RDWR)
        try:
            return is_taken(handle)
        finally:
            os.close(handle)

    def _place(self, number: int) -> Path:
        return self._root / f".launch-{number}.lock"


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a file exclusively while other processes wait, on file systems with locks. Raises `OSError`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        until = time.monotonic() + PATIENCE_S
        while is_taken(handle) and time.monotonic() < until:
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)


MAX_NAMES = 10_000


def wanted_name(producer: object) -> str:
    """Return the name for this process: one that is valid as a file name in the run's folder."""
    name = word(producer) or f"rank{os.environ.get('RANK', '0')}"
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "rank0"


def ranks(producer: object) -> int | None:
    """Return the number of processes of the launch; None if this process has a name of its own."""
    if producer:
        return None
    world_size = os.environ.get("WORLD_SIZE", "1")
    return int(world_size) if world_size.isdecimal() and len(world_size) < 10 else None


def names(wanted: str) -> Iterator[str]:
    """Yield the names that the process may take, in order: other processes may hold the first ones."""
    yield wanted
    yield from (f"{wanted}-{number}" for number in range(2, MAX_NAMES + 1))


def code_diff(folder: str | os.PathLike[str]) -> str:
    """Return how the code of a repository differs from its last commit; the text also says if no repository exists."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return f"### module: {Path(folder).resolve().name} (not in a git repository)\n"
    root = top.strip()
    head = (_git(root, "rev-parse", "HEAD") or "no commit yet").strip()
    sections = [f"### repo: {root} @ {head}\n"]
    for title, arguments in (("staged", ("diff", "--cached")), ("not staged", ("diff",))):
        diff = _git(root, *arguments, "--no-ext-diff", "--no-textconv", "--no-color")
        sections += [f"-- {title} --\n{diff}"] if diff else []
    untracked = (_git(root, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")[:-1]
    if untracked:
        more = [f"({len(untracked) - MAX_UNTRACKED:,} more)"] if len(untracked) > MAX_UNTRACKED else []
        sections.append("\n".join(["-- untracked --", *untracked[:MAX_UNTRACKED], *more, ""]))
    return "".join(sections) if len(sections) > 1 else f"{sections[0]}(no local changes)\n"


def _git(folder: str | os.PathLike[str], *arguments: str) -> str | None:
    """Return the output of a git command, None if it fails. Runs nothing that a repository configures."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, cwd=Path(folder), env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout[:MAX_BYTES].decode("utf-8", "replace") if done.returncode == 0 else None


MARKER = "rolloupe.json"
CONFIG = "config.json"
OWN_CONFIG = "config.rolloupe.json"
LAYOUT = "rolloupe"
VERSION = 1
OPEN = ("native", "generic")
"""Formats that do not mean another tool's run: the native one, and generic JSON lines."""

CHECKPOINTS = "checkpoints.jsonl"
ATTEMPTS = "attempts.jsonl"
ENDED = "ended.jsonl"


class Folder:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if isinstance(path, str) and not path:
            raise UnreadablePath("cannot record at '': an empty path names no folder")
        try:
            self.path = Path(path).expanduser().absolute()
        except (RuntimeError, TypeError, ValueError) as error:
            raise UnreadablePath(f"cannot record at {str(path)!r}: {error}") from None
        if is_remote(place_of(Path(path))):
            raise UnreadablePath(f"cannot record at {path}: record to a folder, with upload={str(path)!r}")
        self._is_foreign = False
        """True if the folder already held another tool's configuration, which stays as it is."""

    def make(self, ranges: Mapping[str, Any]) -> None:
        """Create the run, or resume an existing one. Raises `UnreadablePath` if neither is possible."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            former = self._marker()
            self._is_foreign = former is None and (self.path / CONFIG).exists()
            marker = {"layout": LAYOUT, "version": VERSION, **{k: v for k, v in (former or {}).items() if k in ranges}}
            marker |= {key: jsonable(value) for key, value in ranges.items() if value is not None}
            if marker != former:
                atomic.write(self.path / MARKER, f"{json.dumps(marker, indent=2)}\n".encode())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UnreadablePath(f"cannot record at {self.path}: {reason}. Next: name another folder") from None

    def others(self) -> str:
        """Return the layouts in which other tools left runs in this folder; empty if Rolloupe records here already."""
        names = []
        with contextlib.suppress(Exception):
            if self.path.is_dir() and not self.is_made() and any(self.path.iterdir()):
                from rolloupe.formats import all_formats

                names = [form.name for form in all_formats() if form.name not in OPEN and form.detect(self.path)]
        return ", ".join(names)

    def is_made(self) -> bool:
        """Return whether the run exists."""
        return (self.path / MARKER).exists()

    def _marker(self) -> dict[str, Any] | None:
        """Return the marker's contents, None if missing. Raises `OSError`, and `ValueError` for a foreign marker."""
        try:
            data = (self.path / MARKER).read_bytes()
        except FileNotFoundError:
            return None
        try:
            marker = json.loads(data)
        except (ValueError, RecursionError):
            raise ValueError(f"its {MARKER} cannot be read") from None
        if not isinstance(marker, dict) or marker.get("layout") != LAYOUT:
            raise ValueError(f"its {MARKER} is not one of Rolloupe")
        if not isinstance(marker.get("version"), int) or marker["version"] > VERSION:
            raise ValueError(
                f"it was recorded in version {marker.get('version')} of the layout, and this Rolloupe writes version "
                f"{VERSION}: update Rolloupe"
            )
        return marker

    def config(self, config: object) -> None:
        """Keep the configuration; if it differs from the last one, keep both. Raises `OSError`."""
        with alone(self.path / ATTEMPTS):
            self._keep(self._config_name, self.settings(config))

    @property
    def _config_name(self) -> str:
        return OWN_CONFIG if self._is_foreign or (self.path / OWN_CONFIG).exists() else CONFIG

    def settings(self, config: object) -> str:
        """Return a configuration as the file holds it."""
        return json.dumps(settings(config), indent=2, ensure_ascii=False) + "\n"

    def config_of(self, producer: str, text: str) -> str:
        """Keep the configuration of a process if it differs from the run's, and return its file. Raises `OSError`."""
        with alone(self.path / ATTEMPTS):
            place, name = self.path / self._config_name, ""
            if place.exists() and place.read_bytes() != text.encode("utf-8", "replace"):
                name = place.with_suffix(f".{producer}{place.suffix}").name
            self._keep(name or place.name, text)
            return name

    def code(self, diff: str) -> None:
        """Keep the difference of the code; if it differs from the last one, keep both. Raises `OSError`."""
        with alone(self.path / ATTEMPTS):
            self._keep("code.diff", diff)

    def _keep(self, name: str, text: str) -> None:
        """Write a file; if its contents change, keep the old ones under another name."""
        place, data = self.path / name, text.encode("utf-8", "replace")
        with contextlib.suppress(FileNotFoundError):
            if place.read_bytes() == data:
                return
            _keep_beside(place)
        atomic.write(place, data)

    def attempt(self, producer: str, launch: Launch, ranks: int | None) -> int | None:
        """Note that a process started recording; returns the number of its launch. Raises `OSError`."""
        last = self.last_checkpoint()
        with alone(self.path / ATTEMPTS):
            before = self._rows(ATTEMPTS)
            joined = None if ranks is None else launch.join(producer, ranks, before)
            attempt = {
                "attempt": len(before) + 1, "producer": producer, "time": time.time(), "pid": os.getpid(),
                "host": socket.gethostname(), "checkpoint": last.name if last else None,
            }  # fmt: skip
            self.append(ATTEMPTS, attempt if ranks is None else attempt | {"ranks": ranks, "launch": joined})
        return joined

    def ended(self, producer: str) -> None:
        """Note that a process stopped recording. Raises `OSError`."""
        self.append(ENDED, {"producer": producer, "time": time.time(), "pid": os.getpid()})

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Append a line to a file that several processes may write. Raises `OSError`."""
        atomic.append(self.path / name, encoded(record, separators=COMPACT, nan=True))

    def last_checkpoint(self) -> Checkpoint | None:
        """Return the last checkpoint."""
        if not (rows := self._rows(CHECKPOINTS)):
            return None
        name, step, paths, state = (rows[-1].get(key) for key in ("name", "step", "paths", "loop_state"))
        return Checkpoint(
            name="" if name is None else str(name),
            step=step if isinstance(step, int) else None,
            paths={str(k): str(v) for k, v in paths.items()} if isinstance(paths, dict) else {},
            extra=state if isinstance(state, dict) else {},
        )

    def _rows(self, name: str) -> list[dict[str, Any]]:
        try:
            lines = (self.path / name).read_bytes().split(b"\n")
        except OSError:
            return []
        return [row for row in map(object_in, lines) if row]


def _keep_beside(place: Path) -> None:
    """Give a file a second name, or copy it on file systems without links. Raises `OSError`."""
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
