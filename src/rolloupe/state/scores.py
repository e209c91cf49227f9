"""Scores that a person's own grader gave to the samples of a run: a file for each name, beside the state's database."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rolloupe.errors import NotWritable, RolloupeError
from rolloupe.index import OpenRun
from rolloupe.index.segments.parts import SUFFIX, ScoreLine
from rolloupe.model import Source
from rolloupe.state import State, default_folder
from rolloupe.storage import atomic

FOLDER = "scores"
PAGE = "scores"
"""The layout that says how the scores of each name were made: `{NAME: {...}}`."""

MAX_NAMES = 100
MAX_ABOUT_CHARS = 200


@contextlib.contextmanager
def score_file(folder: Path | None, run: OpenRun, name: str, about: Mapping[str, Any]) -> Iterator[BinaryIO]:
    """Open the file of scores with this name, which replaces an older one once it is complete.

    Raises `NotWritable`.
    """
    with contextlib.closing(State(folder)) as state:
        _note(state, run, name, about)
        place = _place(state, run, name)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic.remove_leftovers(place.parent)
        with atomic.replacing(place) as file:
            file.write(encoded(ScoreLine(about=dict(about))))
            yield file
    except OSError as error:
        raise NotWritable(f"the scores cannot be written to {place}: {error.strerror or error}") from None


def forget_scores(folder: Path | None, run: OpenRun, name: str) -> bool:
    """Remove the scores of a name; False without any. Raises `NotWritable`."""
    if not State.is_there(folder):
        return False
    with contextlib.closing(State(folder)) as state:
        place = _place(state, run, name)
        if not place.is_file():
            return False
        _note(state, run, name, None)
    try:
        place.unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(f"{place} cannot be removed: {error.strerror or error}") from None
    return True


def _place(state: State, run: OpenRun, name: str) -> Path:
    return state.file.path.parent / FOLDER / str(state.owner(run)) / f"{name}{SUFFIX}"


def encoded(line: ScoreLine) -> bytes:
    """A line of a file of scores; a lone surrogate becomes a question mark."""
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:
        tags = {_plain(key): _plain(value) for key, value in line.tags.items()}
        metrics = {_plain(key): value for key, value in line.metrics.items()}
        cleaned = ScoreLine(place=_plain(line.place), id=_plain(line.id), metrics=metrics, tags=tags)
        return msgspec.json.encode(cleaned) + b"\n"


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _note(state: State, run: OpenRun, name: str, about: Mapping[str, Any] | None) -> None:
    """Remember how the scores of a name were made; None if they are removed."""

    def change(layout: dict[str, Any]) -> dict[str, Any]:
        names = {other: kept for other, kept in layout.items() if other != name}
        if about is not None:
            short = {key: str(value)[:MAX_ABOUT_CHARS] for key, value in about.items()}
            names[name] = short | {"at_s": round(time.time())}
        return dict(list(names.items())[-MAX_NAMES:])

    state.change_layout(run, PAGE, change)


class ScoreFiles:
    """Finds the files with scores of a run; called at every poll, from the thread of the run."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = Path(folder).expanduser() if folder else default_folder()
        self._places: dict[str, tuple[int, Path | None]] = {}
        """By run: the time of the folder at the last search, and what was found."""

    def __call__(self, run: OpenRun) -> Sequence[Source]:
        """The files with scores of a run."""
        try:
            changed_ns = (self._folder / FOLDER).stat().st_mtime_ns
            place = self._place(run, changed_ns)
            names = sorted(os.listdir(place)) if place is not None else []
        except OSError:
            return ()
        root = "" if place is None else os.path.realpath(place)
        return [
            Source(path=f"{root}/{name}", name=f"{FOLDER}/{name}", root=root, annotates=True, scores=True)
            for name in names
            if name.endswith(SUFFIX) and not name.startswith(".")
        ]

    def _place(self, run: OpenRun, changed_ns: int) -> Path | None:
        """The folder of a run; without one, it is searched again once any folder was added."""
        seen_ns, place = self._places.get(run.id, (0, None))
        if place is None and seen_ns != changed_ns:
            with contextlib.suppress(RolloupeError), contextlib.closing(State(self._folder)) as state:
                owner = state.owner(run)
                place = self._folder / FOLDER / owner if owner else None
                self._places[run.id] = changed_ns, place
        return place
