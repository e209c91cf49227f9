"""RunFindings that were looked for before: in memory, and beside the index for later processes."""

import contextlib
import hashlib
from pathlib import Path

import msgspec

from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.features.files import features_of
from rolloupe.index.fingerprint import size_of
from rolloupe.insight.findings.records import RunFindings
from rolloupe.query import FeaturePieces
from rolloupe.storage import atomic

VERSION = 1
"""Raise it when the same samples lead to other findings."""

FOLDER = "findings"
MOST_FILES = 64


def stamp_of(snapshot: Snapshot, pieces: FeaturePieces, asked: object) -> str:
    """Identify what findings depend on: the question, the samples, and what the index knows of their features."""
    digest = hashlib.blake2b(repr((VERSION, asked, pieces.samples, pieces.pending)).encode(), digest_size=12)
    for piece in pieces.pieces:
        assert piece.path is not None
        digest.update(repr((piece.path.name, piece.fingerprint, size_of(features_of(piece.path)))).encode())
    for facts in pieces.facts:
        digest.update(repr(facts).encode())
    digest.update(repr(sorted((key, stats.stamp, stats.launch) for key, stats in snapshot.steps.items())).encode())
    return digest.hexdigest()


def known(run: OpenRun, stamp: str) -> RunFindings | None:
    """The findings with this stamp, if they were kept."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode(_path(run, stamp).read_bytes(), type=RunFindings)
    return None


def keep(run: OpenRun, stamp: str, found: RunFindings) -> None:
    """Keep findings, and drop the oldest ones if there are many. Without room nothing is kept."""
    with contextlib.suppress(OSError):
        atomic.write(_path(run, stamp), msgspec.msgpack.encode(found))
        files = sorted(_path(run, stamp).parent.glob("*.findings"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def _path(run: OpenRun, stamp: str) -> Path:
    return run.catalog.folder / FOLDER / f"{stamp}.findings"
