"""RunFindings that were looked for before: in memory, and beside the index for later processes."""

import contextlib
import hashlib
from pathlib import Path

import msgspec

from rolloupe.derive import behaviours
from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.features import features_of
from rolloupe.insight.findings.records import RunFindings
from rolloupe.query import FeatureWindow
from rolloupe.storage import atomic

VERSION = 10
"""Raise it when the same samples lead to other findings."""

FOLDER = "findings"
MOST_FILES = 64


def stamp_of(snapshot: Snapshot, window: FeatureWindow, asked: object) -> str:
    """Identify what findings depend on: the question, the samples, and the files of their features."""
    digest = hashlib.blake2b(repr((VERSION, sorted(behaviours()), window, asked)).encode(), digest_size=12)
    for piece in snapshot.holding((window.split,), window.step_min, window.step_max):
        state = None if piece.path is None else _state_of(features_of(piece.path))
        digest.update(repr((piece.source, piece.start, piece.stop, piece.fingerprint, state)).encode())
    steps = ((key, stats.stamp, stats.launch) for key, stats in snapshot.steps.items() if key[0] == window.split)
    digest.update(repr(sorted(steps)).encode())
    return digest.hexdigest()


def _state_of(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; None without one."""
    with contextlib.suppress(OSError):
        state = path.stat()
        return state.st_size, state.st_mtime_ns
    return None


def known(run: OpenRun, stamp: str) -> RunFindings | None:
    """The findings with this stamp, if they were kept."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode(_path(run, stamp).read_bytes(), type=RunFindings)
    return None


def keep(run: OpenRun, stamp: str, found: RunFindings) -> None:
    """Keep findings, and drop the oldest ones if there are many.

    Without room nothing is kept, nor for steps that are too large to write.
    """
    with contextlib.suppress(OSError, OverflowError):
        atomic.write(_path(run, stamp), msgspec.msgpack.encode(found))
        files = sorted(_path(run, stamp).parent.glob("*.findings"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def _path(run: OpenRun, stamp: str) -> Path:
    return run.catalog.folder / FOLDER / f"{stamp}.findings"
