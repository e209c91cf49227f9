"""The current state of a run's splits: means of their newest steps, from step statistics unless annotations matter."""

from typing import NamedTuple

from rolloupe.index import OpenRun, Snapshot
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_annotated
from rolloupe.query.engine.relation import AnnotationOverlay, mean_of, quote

COLUMNS = ("reward", "response_tokens", "response_chars")


class Newest(NamedTuple):
    """Means over the trained samples, each at the newest step that has one."""

    reward: float | None = None
    response_tokens: float | None = None
    response_chars: float | None = None


MOST_SPLITS = 20_000

_cache = AnswerCache[dict[str, Newest]](MOST_SPLITS, len)


def newest(run: OpenRun) -> dict[str, Newest]:
    """The means of each split. If annotations decide, only those of the first split, at its last step."""
    snapshot = run.snapshot()
    return _cache.get(run, snapshot, "newest", lambda: _computed(run, snapshot))


def _computed(run: OpenRun, snapshot: Snapshot) -> dict[str, Newest]:
    if snapshot.annotates_discarded or is_annotated(snapshot, COLUMNS):
        return _annotated(run, snapshot)
    means_by_split: dict[str, dict[str, tuple[int, float]]] = {}
    for stats in snapshot.steps.values():
        means = means_by_split.setdefault(stats.split, {})
        for name in COLUMNS:
            moments = stats.columns.get(name)
            if moments is not None and moments.count and (name not in means or means[name][0] < stats.step):
                means[name] = stats.step, moments.mean
    return {
        split: Newest(**{name: mean for name, (_, mean) in means.items()}) for split, means in means_by_split.items()
    }


def _annotated(run: OpenRun, snapshot: Snapshot) -> dict[str, Newest]:
    """One look at the samples of one step: quick for a run of any length."""
    keys = sorted(snapshot.steps, key=lambda key: (key[0] != "train", key[0], -key[1]))
    if not keys:
        return {}
    split, step = keys[0]
    means = ", ".join(mean_of(f"{quote(name)}::DOUBLE") for name in COLUMNS)
    sql = f"SELECT {means} FROM rows WHERE split = ? AND step = ? AND discarded = ''"
    overlay = AnnotationOverlay(snapshot.annotations, [*COLUMNS, "discarded"])
    ((reward, tokens, chars),) = database.ask(
        run, Question(snapshot.holding([split], step, step), sql, [split, step], overlay=overlay)
    )
    return {split: Newest(reward, tokens, chars)}
