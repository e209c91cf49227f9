"""The runs of a library that one person may see: to that person, there are no others."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rolloupe.errors import NotFound
from rolloupe.formats import Note
from rolloupe.index import Library, OpenRun, plain_id
from rolloupe.lru import Lru
from rolloupe.storage import both_places

if TYPE_CHECKING:
    from rolloupe.server.team.people import Person

MAX_PLACES = 100_000
PLACES_S = 30.0
"""For lists, the places of a run are looked up again after this time; to open a run, each time."""

_places: Lru[tuple[str, ...], tuple[float, tuple[str, ...]]] = Lru(MAX_PLACES)


class VisibleRuns:
    """What a library holds for a person."""

    def __init__(self, library: Library, person: "Person") -> None:
        self._library, self._person = library, person

    @cached_property
    def runs(self) -> list[OpenRun]:
        """The runs that the person may see."""
        return [run for run in self._library.runs if may_see(self._person, run)]

    @property
    def notes(self) -> list[Note]:
        """Notes about places that the person may see."""
        return [note for note in self._library.notes if self._person.may_see(both_places(str(note.path)))]

    @property
    def is_searching(self) -> bool:
        """True until the first search for runs has ended."""
        return self._library.is_searching

    @property
    def index_dir(self) -> Path:
        """The folder of the index."""
        return self._library.index_dir

    def run(self, run_id: str) -> OpenRun:
        """The run with this id. Raises `NotFound`, which lists the visible runs, for a hidden one too."""
        run = self.find(run_id)
        if run is not None and may_see(self._person, run, is_fresh=True):
            run.asked()
            return run
        visible = (run.id for run in self._library.runs if may_see(self._person, run))
        ids = ", ".join(islice(visible, 10)) or "none"
        raise NotFound(f"no run {run_id!r} is open; open runs: {ids}")

    def find(self, run_id: str) -> OpenRun | None:
        """The run with this id, if it is open, and visible when its places were looked up last.

        The name of a run is enough as long as the person sees no other of that name.
        """
        run = self._library.find(run_id)
        if run is not None and may_see(self._person, run):
            return run
        alike = (run for run in self._library.runs if plain_id(run.info) == run_id)
        of_name = [run for run in alike if may_see(self._person, run)]
        return of_name[0] if len(of_name) == 1 else None

    def index_bytes(self) -> int:
        """The size of the index on disk, of the visible runs."""
        return self._library.index_bytes(self.runs)


Runs: TypeAlias = Library | VisibleRuns


def who_sees_alike(person: "Person | None") -> tuple[str, ...]:
    """Stands for all people who see the same runs as this one: each alone, if there are rules."""
    return (person.name,) if person is not None and person.access.now.has_rules else ()


def may_see(person: "Person", run: OpenRun, *, is_fresh: bool = False) -> bool:
    """True if a person may see a run: every place where it lies, by its name and behind links."""
    if not person.access.now.has_rules:
        return True
    named = tuple(_named(run))
    now = time.monotonic()
    looked_s, places = _places.get(named) or (0.0, ())
    if is_fresh or not places or now - looked_s > PLACES_S:
        places = tuple(place for path in named for place in both_places(path))
        _places.put(named, (now, places))
    return person.may_see(places)


def still_sees(person: "Person | None", runs: Sequence[OpenRun]) -> Callable[[], bool]:
    """Return what tells whether a person still may see some runs: at once, while roles and rules stay as they are."""
    access = None if person is None else person.access.now

    def check() -> bool:
        nonlocal access
        if person is None or person.access.now is access:
            return True
        access = person.access.now
        return bool(person.role) and all(may_see(person, run) for run in runs)

    return check


def _named(run: OpenRun) -> Iterator[str]:
    yield run.info.root
    for part in run.info.parts:
        yield part.path
