"""What was generated and not trained on: how many samples of each step, and for which reasons."""

import threading
from collections import Counter, OrderedDict

from rolloupe.index import OpenRun, StepKey
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.records import Discards
from rolloupe.query.rows import Said

KEPT = 16

COUNTED = """
SELECT split, step, discarded, count(*), count(DISTINCT grp),
       count(*) FILTER (status IN ('aborted', 'error') AND response_chars = 0)
FROM rows WHERE discarded <> '' GROUP BY split, step, discarded ORDER BY split <> 'train', split, step, discarded
"""

_lock = threading.Lock()
_known: OrderedDict[tuple[str, str], list[Discards]] = OrderedDict()


def discards(run: OpenRun, split: str | None = None) -> list[Discards]:
    """What was not trained on, by split, step and reason; of all splits or of one. Empty where all was."""
    return [one for one in _all(run) if split in (None, one.split)]


def discarded_by_step(run: OpenRun) -> dict[StepKey, int]:
    """How many samples of each step were not trained on. Costs a look at the samples only where annotations say so."""
    snapshot = run.snapshot()
    if not snapshot.says_discarded:
        return {key: count for key, sketch in snapshot.steps.items() if (count := sum(sketch.discarded.values()))}
    found: Counter[StepKey] = Counter()
    for one in _all(run):
        found[one.split, one.step] += one.samples
    return dict(found)


def _all(run: OpenRun) -> list[Discards]:
    snapshot = run.snapshot()
    if not snapshot.has_discarded:
        return []
    key = (str(run.catalog.folder), snapshot.version)
    with _lock:
        held = _known.get(key)
    if held is None:
        said = Said(snapshot.annotations, ["discarded"]) if snapshot.says_discarded else Said()
        pieces = snapshot.holding()
        held = [Discards(*one) for one in engine.ask(run, Question(pieces, COUNTED, said=said))] if pieces else []
    with _lock:
        _known[key] = held
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return held
