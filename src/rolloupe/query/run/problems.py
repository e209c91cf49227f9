"""Problems of a run: those of its files, those of files beside them, and annotations of unknown samples."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rolloupe.errors import RolloupeError
from rolloupe.formats.reading.trainer_files import damage
from rolloupe.index import OpenRun
from rolloupe.model import Problem
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import AnnotationOverlay
from rolloupe.query.run.trainer_metrics import curve_sources, left_out_of_named, tracker_damage

UNMATCHED = """
SELECT file, count(*), min(byte_start), arg_min(byte_length, byte_start) FROM annotations
ANTI JOIN (SELECT uid FROM base UNION ALL SELECT trace_id FROM base) AS known USING (uid)
GROUP BY file ORDER BY file
"""

SHARE = 20
"""After a check that took t, the next one waits this many t: a growing run must not be busy with checks."""


class ProblemsFound(NamedTuple):
    """The problems of a check, the index version (None if independent of it), its time, and its duration."""

    found: Sequence[Problem]
    version: str
    at_s: float
    took_s: float


_looks: WeakKeyDictionary[OpenRun, dict[str, ProblemsFound]] = WeakKeyDictionary()
_lock = threading.Lock()


def problems(run: OpenRun) -> list[Problem]:
    """Every unreadable record, including those of files beside the samples, and annotations of unknown samples."""
    return [*run.failures(texts=True), *unmatched(run), *file_problems(run), *run.snapshot().problems]


def problem_count(run: OpenRun, *, of_files: bool = True) -> int:
    """The number of problems, including those beyond a segment's list. Those of files beside the samples are read."""
    return run.problem_count() + len(unmatched(run)) + (len(file_problems(run)) if of_files else 0)


def unmatched(run: OpenRun) -> Sequence[Problem]:
    """A problem for each file of annotations with lines about unknown samples, which may still arrive.

    The list is empty before the first complete index. For a growing run the answer may be a moment old.
    """
    return _looked(run, "unmatched", run.version, lambda last: _unmatched(run, last))


def file_problems(run: OpenRun) -> Sequence[Problem]:
    """Damage in files beside the samples, and reports of records never written. Cached like `unmatched`."""
    return _looked(run, "files", "", lambda _: _file_problems(run))


def _file_problems(run: OpenRun) -> list[Problem]:
    info = run.info
    damages = [problem for source in run.format.trainer_files(info) for problem in damage(source)]
    named = left_out_of_named(curve_sources(run)) if info.reading.metrics else []
    return [*damages, *run.format.losses(info), *tracker_damage(info), *named]


def _looked(
    run: OpenRun, what: str, version: str, look: Callable[[ProblemsFound | None], Sequence[Problem]]
) -> Sequence[Problem]:
    if not run.wait(0):
        return []
    with _lock:
        looks = _looks.setdefault(run, {})
        last, began = looks.get(what), time.monotonic()
        if last is not None and ((version and last.version == version) or began - last.at_s < SHARE * last.took_s):
            return last.found
        result = look(last)
        looks[what] = ProblemsFound(result, version, time.monotonic(), time.monotonic() - began)
    return result


def _unmatched(run: OpenRun, last: ProblemsFound | None) -> Sequence[Problem]:
    snapshot = run.snapshot()
    pieces = snapshot.holding()
    if not snapshot.annotations or not pieces:
        return []
    try:
        overlay = AnnotationOverlay(snapshot.annotations, ["advantage"])
        answer = database.ask(run, Question(pieces, UNMATCHED, overlay=overlay))
    except RolloupeError:  # too large for a query, or the index is being rebuilt
        return last.found if last else []
    return [
        Problem(
            source=file,
            reason=f"{count:,} annotations of samples that are not in the run; this is the first",
            start=start,
            stop=start + length,
            transient=True,
        )
        for file, count, start, length in answer
    ]
