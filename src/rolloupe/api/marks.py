"""What a person added to a run: bookmarks, notes, and scores of a grader of their own."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.index.segments.parts import ScoreLine
from rolloupe.insight.rescore import FAILED, PREFIX, REASON, Graded, Rescored, RescorePlan, rescored
from rolloupe.state import State
from rolloupe.state.records import located_samples, marks_of
from rolloupe.state.scores import encoded, score_file


class Bookmark(NamedTuple):
    """A sample that a person marked. `id` is the sample's current id, or its last one if the run no longer has it."""

    id: str
    is_bookmarked: bool
    """False if the sample has only a note."""
    note: str
    is_there: bool
    uid: str
    response: str
    """The start of the response."""
    changed_s: float
    """Seconds since the epoch."""


def bookmarks(run: OpenRun, state_dir: Path | None) -> list[Bookmark]:
    """Return the bookmarks of a run's samples; creates nothing for a run without any."""
    if not State.is_there(state_dir):
        return []
    with contextlib.closing(State(state_dir)) as state:
        owner = state.owner(run)
        marks = [mark for mark in marks_of(state.of(owner)) if mark.is_bookmark] if owner else []

    samples = located_samples(marks, lambda keys: query.named(run, keys), lambda uids: query.by_uid(run, uids))
    return [
        Bookmark(
            sample.id if sample and sample.key != mark.key else mark.item.name,
            mark.mark.bookmarked, mark.mark.note, sample is not None, mark.mark.uid,
            sample.response if sample else mark.mark.excerpt, mark.item.changed_s,
        )
        for mark, sample in samples
    ]  # fmt: skip


def rescore(run: OpenRun, plan: RescorePlan, state_dir: Path | None) -> Rescored:
    """Score samples again; the scores replace earlier ones of the same name once all are there."""
    name, query = plan.grader.name, plan.query
    about = {
        "grader": f"{plan.grader.path}:{plan.grader.function}", "split": ", ".join(query.splits),
        "steps": ":".join("" if step is None else str(step) for step in (query.step_min, query.step_max)),
    }  # fmt: skip
    with score_file(state_dir, run, name, about) as file:

        def save(group: Sequence[Graded]) -> None:
            file.write(b"".join(encoded(_line(name, one)) for one in group))

        return rescored(run, plan, save)


def _line(name: str, one: Graded) -> ScoreLine:
    column, verdict = f"{PREFIX}{name}", one.verdict
    metrics = {} if verdict.score is None else {column: verdict.score}
    metrics |= {f"{column}.{key}": value for key, value in verdict.metrics.items()}
    tags = {f"{column}.{key}": value for key, value in verdict.tags.items()}
    if verdict.failed is not None:
        tags |= {f"{column}.{FAILED}": verdict.failed, f"{column}.{REASON}": verdict.reason}
    return ScoreLine(place=one.place, id=one.item.id, metrics=metrics, tags=tags)
