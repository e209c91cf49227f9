"""Scores a run again, and keeps the scores in the state folder."""

from collections.abc import Sequence
from pathlib import Path

from rolloupe.index import OpenRun
from rolloupe.index.segments.scores import ScoreLine
from rolloupe.insight.rescore import FAILED, PREFIX, REASON, Graded, Rescored, RescorePlan, rescored
from rolloupe.state import encoded, score_file


def rescore(run: OpenRun, plan: RescorePlan, state_dir: Path | None) -> Rescored:
    """Score samples again; the scores replace earlier ones of the same name once all are there."""
    name, query = plan.grader.name, plan.query
    about = {
        "grader": f"{plan.grader.path}:{plan.grader.function}", "split": ", ".join(query.splits),
        "steps": f"{_bound(query.step_min)}:{_bound(query.step_max)}",
    }  # fmt: skip
    with score_file(state_dir, run, name, about) as file:

        def save(group: Sequence[Graded]) -> None:
            file.write(b"".join(encoded(_line(name, one)) for one in group))

        return rescored(run, plan, save)


def _bound(step: int | None) -> str:
    return "" if step is None else str(step)


def _line(name: str, one: Graded) -> ScoreLine:
    column, verdict = f"{PREFIX}{name}", one.verdict
    metrics = {} if verdict.score is None else {column: verdict.score}
    metrics |= {f"{column}.{key}": value for key, value in verdict.metrics.items()}
    tags = {f"{column}.{key}": value for key, value in verdict.tags.items()}
    if verdict.failed is not None:
        tags |= {f"{column}.{FAILED}": verdict.failed, f"{column}.{REASON}": verdict.reason}
    return ScoreLine(place=one.place, id=one.item.id, metrics=metrics, tags=tags)
