"""The log beside a file of rollouts of the Tinker cookbook: its place, and the texts that it adds to trajectories.

A small cache ties a sample on the screen to its conversation; a scan reads the log once for itself, so that indexing
never evicts what readers use.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import lru_cache

from rolloupe.errors import defect
from rolloupe.formats.reading import logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import COMPRESSED, links_of, plain_name
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.tinker import turns as tinker_turns
from rolloupe.formats.tinker.join import Joined, Place, join, place_of
from rolloupe.formats.tinker.names import ROLLOUTS
from rolloupe.formats.tinker.turns import Tied
from rolloupe.model import Location, Problem, RunInfo, SampleRow, Source
from rolloupe.storage import file_state, is_below, is_file, path_state

TREE = "_logtree.json"
PAGE = ".html"
MAX_JOINED_BYTES = 64 * 2**20
"""A longer file of rollouts is not loaded to tie conversations to its trajectories."""

_TOO_LONG = f"longer than {MAX_JOINED_BYTES // 2**20} MiB: the conversations of the step's log are tied to none of it"


def tree_of(rollouts: str) -> str:
    """Return the path of the tree beside a file of rollouts, as if neither were compressed."""
    return plain_name(rollouts).removesuffix(ROLLOUTS) + TREE


def beside(path: str, suffix: str, other: str) -> str:
    """Return the path of another file of the same step and split, by its suffix, compressed or not."""
    plain = plain_name(path).removesuffix(suffix) + other
    return next((plain + kind for kind in ("", *COMPRESSED) if is_file(plain + kind)), plain)


def log_state(path: str) -> tuple[str, int]:
    """Return a word that changes with a log, and its size; nothing without a log.

    The word does not depend on inodes, which mounts change.
    """
    try:
        state = path_state(path)
    except OSError:
        return "", 0
    return f"{state.st_size:x}-{state.st_mtime_ns:x}", state.st_size


def has_log(run: RunInfo, rollouts: str) -> bool:
    """True if a log of the trainer lies beside a file of the step's rollouts."""
    is_named = plain_name(rollouts).endswith(ROLLOUTS)
    found = [beside(rollouts, ROLLOUTS, other) for other in (TREE, PAGE)] if is_named else []
    return any(is_file(path) and is_below(os.path.realpath(path), links_of(run)) for path in found)


def tied_to(run: RunInfo, rollouts: str, split: str, step: int, record: Record) -> Tied | None:
    """Return the conversation of one trajectory in the log beside a file of rollouts, if the match is certain."""
    place = place_of(record)
    if place is None or not plain_name(rollouts).endswith(ROLLOUTS):
        return None
    found = joined(run, beside(rollouts, ROLLOUTS, TREE), rollouts, split, step)
    return found.tied.get(place) if found else None


def joined(run: RunInfo, tree: str, rollouts: str, split: str, step: int) -> Joined | None:
    """Return a log joined with the trajectories beside it; None if one of the two cannot be read."""
    both = Location(tree, links_of(run)), Location(rollouts, links_of(run))
    try:
        states = [file_state(one) for one in both]
        if states[1].st_size > MAX_JOINED_BYTES:
            return None
        return _join(*both, split, step, tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in states))
    except (OSError, Unusable):
        return None


def trajectories_beside(run: RunInfo, tree: str) -> Iterator[Record]:
    """Yield the trajectories beside a log; none if the file is missing or too long."""
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
    """The log's additions to the rows of one scan: the log is read once, and not before a row needs it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tied: dict[Place, Tied] | None = None if source.texts_from else {}
        self.problems: list[Problem] = []
        """Why the log could not be read, if rows needed it."""

    def complete(self, record: Record, row: SampleRow) -> None:
        """Give a row without a prompt the texts that a person sees on opening the sample."""
        if row.prompt or self._tied == {} or (place := place_of(record)) is None:
            return
        if self._tied is None:
            self._tied = self._read()
        turns, _ = tinker_turns.turns_in(record)
        tied = self._tied.get(place) if tinker_turns.lacks_prompt(turns) else None
        whole = tinker_turns.with_log(turns, record, tied) if tied else None
        if whole is not None:
            row.prompt, row.response = tinker_turns.texts_of(whole)
            row.messages = tinker_turns.answers_of(whole)

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
        except FileNotFoundError:  # gone since it was listed: the next look notices
            return {}
        except (OSError, Unusable) as error:
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        except Exception as error:  # a defect of ours must not cost the rows
            reason = defect(error)
        name = os.path.join(os.path.dirname(self._source.name), os.path.basename(tree.path))
        reason = f"samples lack the texts that this report may hold: {reason}"
        self.problems.append(Problem(source=os.path.normpath(name), reason=reason))
        return {}
