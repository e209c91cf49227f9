"""What is wrong with a run: what its files say of themselves, those beside them too, and annotations of no sample."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rolloupe.errors import RolloupeError
from rolloupe.formats.base import Format, HasBeside, TellsLosses
from rolloupe.formats.reading.file_damage import damage
from rolloupe.index import OpenRun
from rolloupe.model import Problem, RunInfo
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import Said

UNMATCHED = """
SELECT file, count(*), min(byte_start), arg_min(byte_length, byte_start) FROM said
ANTI JOIN (SELECT uid FROM base UNION ALL SELECT trace_id FROM base) AS known USING (uid)
GROUP BY file ORDER BY file
"""

SHARE = 20
"""Where a look took t, the next one is not before so many t: a run that grows must not be busy with this."""


class ProblemsFound(NamedTuple):
    """What was found, in which version of the index (none where it does not go by that), when, how long it took."""

    found: Sequence[Problem]
    version: str
    at_s: float
    took_s: float


_looks: WeakKeyDictionary[OpenRun, dict[str, ProblemsFound]] = WeakKeyDictionary()
_lock = threading.Lock()


def problems(run: OpenRun) -> list[Problem]:
    """Every record that could not be read, what lies beside samples too, and annotations of no sample."""
    return [*run.failures(texts=True), *unmatched(run), *beside(run), *run.snapshot().problems]


def problem_count(run: OpenRun) -> int:
    """How many problems there are, those beyond what a segment lists included."""
    return run.problem_count() + len(unmatched(run)) + len(beside(run))


def unmatched(run: OpenRun) -> Sequence[Problem]:
    """A problem for each file of annotations with lines about samples that are nowhere: the sample may yet come.

    Nothing is said before all was indexed once. Of a run that grows the answer may be a moment old.
    """
    return _looked(run, "unmatched", run.version, lambda last: _unmatched(run, last))


def beside(run: OpenRun) -> Sequence[Problem]:
    """What cannot be read of the files beside the samples, and what they say was never written. As `unmatched`."""
    return _looked(run, "beside", "", lambda _: _beside(run.format, run.info))


def _beside(reader: Format, info: RunInfo) -> list[Problem]:
    listed = reader.beside(info) if isinstance(reader, HasBeside) else []
    found = [problem for source in listed for problem in damage(source)]
    return found + (reader.losses(info) if isinstance(reader, TellsLosses) else [])


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
        found = look(last)
        looks[what] = ProblemsFound(found, version, time.monotonic(), time.monotonic() - began)
    return found


def _unmatched(run: OpenRun, last: ProblemsFound | None) -> Sequence[Problem]:
    snapshot = run.snapshot()
    pieces = snapshot.holding()
    if not snapshot.annotations or not pieces:
        return []
    try:
        answer = database.ask(run, Question(pieces, UNMATCHED, said=Said(snapshot.annotations, ["advantage"])))
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
