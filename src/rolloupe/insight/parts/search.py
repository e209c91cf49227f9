"""Looks for what each part of the reward pays for: a fit among siblings on phrases and behaviours."""

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.insight.findings.correctness import metrics_of
from rolloupe.insight.one_look import one_at_a_time
from rolloupe.insight.parts.formulas import PartFormulas, note_of
from rolloupe.insight.parts.records import RunParts
from rolloupe.insight.parts.samples import parts_of, some_groups
from rolloupe.query import FeatureWindow
from rolloupe.questions import PartQuery

WHOLE_RUN = PartQuery()


@one_at_a_time
def parts(run: OpenRun, asked: PartQuery = WHOLE_RUN) -> RunParts:
    """Fit every part of the reward in a window. Raises `NotFound` for an unknown split."""
    snapshot = run.snapshot()
    split = asked.split or next((one.name for one in query.splits(run, quick=True)), "train")
    window = FeatureWindow(split, asked.step_min, asked.step_max, asked.env)
    pieces = query.feature_pieces(snapshot, window)
    of = some_groups(query.sample_words(run, window, pieces))
    formulas = PartFormulas(run, of, parts_of(run, metrics_of(snapshot, split)))
    found = formulas.parts()
    is_fitted = any(one.r2 is not None for one in found)
    return RunParts(
        parts=found, whole=formulas.whole, split=split, env=asked.env, step_min=asked.step_min,
        step_max=asked.step_max, samples=of.size, pending=pieces.pending,
        note=note_of(
            formulas, of, pieces, query.discarded_among(run, split, asked.step_min, asked.step_max),
            is_fitted=is_fitted,
        ),
    )  # fmt: skip
