"""The log beside a file of rollouts of the Tinker cookbook: where it lies, and what it adds to the trajectories.

A sample on the screen is tied to its conversation through a small cache; a scan reads the log once for itself, so that
indexing never takes from readers what they have read.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import lru_cache

from rolloupe.errors import defect
from rolloupe.formats.reading import logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import COMPRESSED, links_of, plain_name
from rolloupe.formats.reading.jsonl import Record, Unusable
from rolloupe.formats.tinker import turns as said
from rolloupe.formats.tinker.join import Joined, Place, join, place_of
from rolloupe.formats.tinker.names import ROLLOUTS
from rolloupe.formats.tinker.turns import Tied
from rolloupe.model import Location, Problem, RunInfo, SampleRow, Source
from rolloupe.storage import file_state, is_below

TREE = "_logtree.json"
PAGE = ".html"
MAX_JOINED_BYTES = 64 * 2**20
"""A longer file of rollouts is not held in memory to tie conversations to its trajectories."""

_TOO_LONG = f"longer than {MAX_JOINED_BYTES // 2**20} MiB: the conversations of the step's log are tied to none of it"


def tree_of(rollouts: str) -> str:
    """Return the path of the tree beside a file of rollouts, as if neither were compressed."""
    return plain_name(rollouts).removesuffix(ROLLOUTS) + TREE


def beside(path: str, own: str, other: str) -> str:
    """Return the path of the file of the same step and split with another ending, compressed or not."""
    plain = plain_name(path).removesuffix(own) + other
    return next((plain + kind for kind in ("", *COMPRESSED) if os.path.isfile(plain + kind)), plain)


def log_state(path: str) -> tuple[str, int]:
    """Return a word that changes with a log, and its size; nothing where there is none.

    The word says nothing of inodes, which mounts change.
    """
    try:
        state = os.stat(path)
    except OSError:
        return "", 0
    return f"{state.st_size:x}-{state.st_mtime_ns:x}", state.st_size


def has_log(run: RunInfo, rollouts: str) -> bool:
    """True where something that the trainer logged for the step lies beside a file of its rollouts."""
    is_named = plain_name(rollouts).endswith(ROLLOUTS)
    found = [beside(rollouts, ROLLOUTS, other) for other in (TREE, PAGE)] if is_named else []
    return any(os.path.isfile(path) and is_below(os.path.realpath(path), links_of(run)) for path in found)


def tied_to(run: RunInfo, rollouts: str, split: str, step: int, record: Record) -> Tied | None:
    """Return the conversation that the log beside a file of rollouts holds of one trajectory, if that is certain."""
    place = place_of(record)
    if place is None or not plain_name(rollouts).endswith(ROLLOUTS):
        return None
    found = joined(run, beside(rollouts, ROLLOUTS, TREE), rollouts, split, step)
    return found.tied.get(place) if found else None


def joined(run: RunInfo, tree: str, rollouts: str, split: str, step: int) -> Joined | None:
    """Return a log joined with the trajectories beside it; None where one of both cannot be read."""
    both = Location(tree, links_of(run)), Location(rollouts, links_of(run))
    try:
        states = [file_state(one) for one in both]
        if states[1].st_size > MAX_JOINED_BYTES:
            return None
        return _join(*both, split, step, tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in states))
    except (OSError, Unusable):
        return None


def trajectories_beside(run: RunInfo, tree: str) -> Iterator[Record]:
    """Yield the trajectories beside a log; none where there are none, or too many to be held."""
    rollouts = Location(beside(tree, TREE, ROLLOUTS), links_of(run))
    with contextlib.suppress(OSError):
        if file_state(rollouts).st_size <= MAX_JOINED_BYTES:
            yield from trainer.records(rollouts)


@lru_cache(maxsize=2)
def _join(
    tree: Location, rollouts: Location, split: str, step: int, _states: tuple[tuple[int, int, int], ...]
) -> Joined:
    return join(logtree.read_tree(tree), trainer.records(rollouts), split, step)


class StepLog:
    """What the log beside a source adds to the rows of one scan: read once, and not before a row needs it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tied: dict[Place, Tied] | None = None if source.texts_from else {}
        self.problems: list[Problem] = []
        """Why it could not be read, where rows needed it."""

    def complete(self, record: Record, row: SampleRow) -> None:
        """Give a row without a prompt the texts that a person reads when the sample is opened."""
        if row.prompt or self._tied == {} or (place := place_of(record)) is None:
            return
        if self._tied is None:
            self._tied = self._read()
        turns, _ = said.turns_in(record)
        tied = self._tied.get(place) if said.lacks_prompt(turns) else None
        whole = said.with_log(turns, record, tied) if tied else None
        if whole is not None:
            row.prompt, row.response = said.texts_of(whole)

    def _read(self) -> dict[Place, Tied]:
        rollouts = self._source.location
        tree = Location(beside(rollouts.path, ROLLOUTS, TREE), rollouts.root)
        try:
            if file_state(rollouts).st_size > MAX_JOINED_BYTES:
                self.problems.append(Problem(source=self._source.name, reason=_TOO_LONG))
                return {}
            root = logtree.read_tree(tree)
            if next(logtree.conversations(root), None) is None:
                return {}
            return join(root, trainer.records(rollouts), "", 0).tied
        except FileNotFoundError:  # gone since it was listed: the next look sees that
            return {}
        except (OSError, Unusable) as error:
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        except Exception as error:  # a defect of ours must not cost the rows
            reason = defect(error)
        name = os.path.join(os.path.dirname(self._source.name), os.path.basename(tree.path))
        reason = f"samples lack the texts that this report may hold: {reason}"
        self.problems.append(Problem(source=os.path.normpath(name), reason=reason))
        return {}
