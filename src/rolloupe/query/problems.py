"""What is wrong with a run: what its files say of themselves, and annotations that belong to no sample."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rolloupe.errors import RolloupeError
from rolloupe.index import OpenRun
from rolloupe.model import Problem
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.rows import Said

UNMATCHED = """
SELECT file, count(*), min(byte_start), arg_min(byte_length, byte_start) FROM said
ANTI JOIN (SELECT uid FROM base UNION ALL SELECT trace_id FROM base) AS known USING (uid)
GROUP BY file ORDER BY file
"""

SHARE = 20
"""Where a look took t, the next one is not before so many t: a run that grows must not be busy with this."""


class Look(NamedTuple):
    """What was found, in which version of the index, when, and how long it took."""

    found: Sequence[Problem]
    version: str
    at_s: float
    took_s: float


_looks: WeakKeyDictionary[OpenRun, Look] = WeakKeyDictionary()
_lock = threading.Lock()


def problems(run: OpenRun) -> list[Problem]:
    """Every record that could not be read, every part that could not be scanned, and annotations of no sample."""
    return [*run.failures(), *unmatched(run), *run.snapshot().problems]


def problem_count(run: OpenRun) -> int:
    """How many problems there are, those beyond what a segment lists included."""
    return run.problem_count() + len(unmatched(run))


def unmatched(run: OpenRun) -> Sequence[Problem]:
    """A problem for each file of annotations with lines about samples that are nowhere: the sample may yet come.

    Nothing is said before all was indexed once. Of a run that grows the answer may be a moment old.
    """
    if not run.wait(0):
        return []
    with _lock:
        last = _looks.get(run)
        began = time.monotonic()
        if last is not None and (last.version == run.version or began - last.at_s < SHARE * last.took_s):
            return last.found
        version, found = run.version, _unmatched(run, last)
        _looks[run] = Look(found, version, time.monotonic(), time.monotonic() - began)
    return found


def _unmatched(run: OpenRun, last: Look | None) -> Sequence[Problem]:
    snapshot = run.snapshot()
    pieces = snapshot.holding()
    if not snapshot.annotations or not pieces:
        return []
    try:
        answer = engine.ask(run, Question(pieces, UNMATCHED, said=Said(snapshot.annotations, ["advantage"])))
    except RolloupeError:  # too large for a question, or the index is being made again
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
