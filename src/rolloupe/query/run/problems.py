"""Problems of a run: defects of its files and of files beside them, annotations of unknown samples, and doubts. Doubts
are signs that the rewards or the groups were read from other keys than the trainer meant.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rolloupe.errors import RolloupeError
from rolloupe.formats.generic.hints import GroupedRow, goes_by_prompt
from rolloupe.formats.generic.hints import group_doubts as doubts_of_rows
from rolloupe.formats.reading.trainer_files import damage
from rolloupe.formats.reading.value_parsers import REWARDS
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Problem
from rolloupe.query.engine import database, names, relation
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery
from rolloupe.query.run.trainer_files import curve_sources, left_out_of_named, tracker_damage
from rolloupe.query.samples.pages import samples

UNMATCHED = """
SELECT file, count(*), min(byte_start), arg_min(byte_length, byte_start) FROM annotations
ANTI JOIN (SELECT uid FROM base UNION ALL SELECT trace_id FROM base) AS known USING (uid)
GROUP BY file ORDER BY file
"""

SHARE = 20  # the next check waits this many times as long as the last one took, to keep a growing run responsive
LEAST_ROWS = 5  # in a shorter file, rewards may count up by chance
COUNTS = """
SELECT count(*), count(DISTINCT reward), min(reward), max(reward) FROM base GROUP BY source LIMIT 1000
"""

MOST_SPLITS = 4
MOST_STEPS = 16  # maximum number of steps of a split: the newest ones, with no more samples together than are read
MOST_ROWS = 512
MOST_BYTES = 2**23  # maximum size of the records that are read, as they lie in files
MOST_S = 0.5  # for a split: from a store or out of a compressed file, fewer samples are read in that time

FIRST = f"""
SELECT source, byte_start, byte_length, part FROM base WHERE split = ? AND step BETWEEN ? AND ?
ORDER BY ordinal, source, byte_start, part LIMIT {MOST_ROWS}
"""
"""The first samples of each file, about equally many of all."""


class ProblemsFound(NamedTuple):
    """The problems of a check, the index version (None if independent of it), its time, and its duration."""

    found: Sequence[Problem]
    version: str
    at_s: float
    took_s: float


_looks: WeakKeyDictionary[OpenRun, tuple[threading.Lock, dict[str, ProblemsFound]]] = WeakKeyDictionary()
_lock = threading.Lock()


def problems(run: OpenRun) -> list[Problem]:
    """Return every unreadable record, also of files beside the samples, and annotations of unknown samples."""
    return [*run.failures(texts=True), *unmatched(run), *file_problems(run), *run.snapshot().problems]


def problem_count(run: OpenRun, *, of_files: bool = True) -> int:
    """Count the problems, including those beyond a segment's list. Those of files beside the samples are read."""
    return run.problem_count() + len(unmatched(run)) + (len(file_problems(run)) if of_files else 0)


def unmatched(run: OpenRun) -> Sequence[Problem]:
    """Return a problem for each file with annotations of unknown samples; none before the run is indexed."""
    return _looked(run, "unmatched", run.version, lambda last: _unmatched(run, last))


def file_problems(run: OpenRun) -> Sequence[Problem]:
    """Defects of files beside the samples, and reports of records that were never written. Cached like `unmatched`."""
    info = run.info

    def look(_: ProblemsFound | None) -> list[Problem]:
        damages = [problem for source in run.format.trainer_files(info) for problem in damage(source)]
        named = left_out_of_named(curve_sources(run)) if info.reading.metrics else []
        return [*damages, *run.format.losses(info), *tracker_damage(info), *named]

    return _looked(run, "files", "", look)


def _looked(
    run: OpenRun, what: str, version: str, look: Callable[[ProblemsFound | None], Sequence[Problem]]
) -> Sequence[Problem]:
    if not run.wait(0):
        return []
    with _lock:
        own_lock, looks = _looks.setdefault(run, (threading.Lock(), {}))
    with own_lock:  # other runs do not wait
        last, began = looks.get(what), time.monotonic()
        if last is not None and ((version and last.version == version) or began - last.at_s < SHARE * last.took_s):
            return last.found
        result = look(last)
        looks[what] = ProblemsFound(result, version, time.monotonic(), time.monotonic() - began)
    return result


def _unmatched(run: OpenRun, last: ProblemsFound | None) -> Sequence[Problem]:
    snapshot = run.snapshot()
    pieces = snapshot.holding() if snapshot.annotations else []
    try:
        overlay = relation.AnnotationOverlay(snapshot.annotations, ["advantage"])
        answer = database.ask(run, database.Question(pieces, UNMATCHED, overlay=overlay))
    except RolloupeError:  # too large for a query, or the index is being rebuilt
        return last.found if last else []
    about = "annotations of samples that are not in the run; this is the first"
    return [
        Problem(source=file, reason=f"{count:,} {about}", start=start, stop=start + length, transient=True)
        for file, count, start, length in answer
    ]


def text_rewards(run: OpenRun) -> list[str]:
    """Return the tags of a run under a usual name of a reward."""
    return [name for name in (f"tag.{reward}" for reward in REWARDS) if names.has_column(run, name)]


def reward_doubts(run: OpenRun) -> list[str]:
    """Return signs that the rewards are not scores, which only a person can judge: a sentence each."""
    if not run.wait(0):
        return []
    doubts = []
    key = dict(run.info.reading.fields).get("reward")
    try:
        for name in text_rewards(run):
            query = SampleQuery(where=conditions(f"reward is null and not {name} is null"), limit=1)
            page = samples(run, query, columns=[name])
            for first in page.samples:
                many = "1 sample has" if page.total == 1 else f"{page.total:,} samples have"
                what = "a text instead of a reward, and it is not a number; the first is"
                doubts.append(f"{many} {what} “{first.values[0]}”")
        rows = database.ask(run, database.Question(run.snapshot().holding() if key else (), COUNTS))
    except RolloupeError:  # the index is being rebuilt
        return []
    is_counter = (
        count == different >= LEAST_ROWS and low in (0, 1) and high == low + different - 1
        for count, different, low, high in rows
    )
    if rows and all(is_counter):
        what = f"the rewards count the rows of each file, as `{key}` says: a counter is not a score"
        doubts.append(f"{what}. Next: name another key with --map reward=KEY")
    return doubts


def group_doubts(run: OpenRun) -> list[str]:
    """Return signs that other keys make the groups of a run, unless a person asked for these: a sentence each."""
    if run.info.reading.group_by or not run.wait(0):
        return []
    steps: dict[str, list[int]] = {}
    for split, step in run.snapshot().steps:
        steps.setdefault(split, []).append(step)
    doubts: dict[str, str] = {}
    """By the next step that they name: other splits say the same with other numbers."""
    for split in sorted(steps, key=lambda name: (name != "train", name))[:MOST_SPLITS]:
        read = _rows(run, split, sorted(steps[split]))
        rows = sorted(read, key=lambda grouped: (grouped.row.step, grouped.file, grouped.row.ordinal))
        for doubt in doubts_of_rows(rows, is_guessed=run.format.takes_field_map):
            doubts.setdefault(doubt.partition(" Next: ")[2], doubt)
    return [*doubts.values()]


def _rows(run: OpenRun, split: str, steps: list[int]) -> Iterator[GroupedRow]:
    snapshot = run.snapshot()
    low, count = steps[-1], 0
    for step in reversed(steps[-MOST_STEPS:]):
        count += snapshot.steps[split, step].rows
        if count > MOST_ROWS:
            break
        low = step
    pieces = snapshot.holding([split], low, steps[-1])
    size, until = 0, time.monotonic() + MOST_S
    try:
        places = database.ask(run, database.Question(pieces, FIRST, [split, low, steps[-1]]))
    except RolloupeError:  # the index is being rebuilt
        return
    for name, start, length, part in places:
        size += length
        if size > MOST_BYTES or time.monotonic() > until or (source := run.sources.get(name)) is None:
            return
        record = None
        with suppress(Exception):  # of a file that changes: its own problems say so
            record = run.format.record_at(run.info, source, Locator(source=name, start=start, length=length, part=part))
        if record is None or not (run.format.takes_field_map or goes_by_prompt(record[1])):
            return
        yield GroupedRow(*record, name)
