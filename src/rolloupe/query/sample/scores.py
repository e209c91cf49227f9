"""The scores that a person's own grader gave to one sample."""

from rolloupe.index import OpenRun, metric_column, tag_column
from rolloupe.model import Locator, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import AnnotationOverlay, quote

AT_PLACE = "FROM rows WHERE split = ? AND step = ? AND source = ? AND byte_start = ? AND part = ?"


def scores_of(run: OpenRun, key: SampleKey, locator: Locator) -> tuple[dict[str, float], dict[str, str]]:
    """The metrics and the tags that scores add to the sample at a place."""
    snapshot = run.snapshot()
    metrics = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.metrics))
    tags = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.tags))
    columns = [*map(metric_column, metrics), *map(tag_column, tags)]
    pieces = snapshot.holding([key.split], key.step, key.step) if columns else []
    if not pieces:
        return {}, {}
    overlay = AnnotationOverlay(columns=columns, scores=snapshot.scores)
    values = [key.split, key.step, locator.source, locator.start, locator.part]
    answer = database.ask(
        run, Question(pieces, f"SELECT {', '.join(map(quote, columns))} {AT_PLACE}", values, overlay=overlay)
    )
    found = answer[0] if answer else [None] * len(columns)
    numbers, words = found[: len(metrics)], found[len(metrics) :]
    return (
        {name: value for name, value in zip(metrics, numbers, strict=True) if value is not None},
        {name: value for name, value in zip(tags, words, strict=True) if value is not None},
    )
