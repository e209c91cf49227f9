"""Where the gradient of a run came from: a sample pulls by the square of its advantage."""

import numpy as np

from rolloupe import query
from rolloupe.features import Floats, Places
from rolloupe.index import OpenRun
from rolloupe.insight.findings.correctness import correctness_of, metrics_of
from rolloupe.insight.gradient.cuts import Correctness, by_env, by_length, by_outcome
from rolloupe.insight.gradient.pulls import Mask, Pulls
from rolloupe.insight.gradient.records import PromptCounts, RunGradient, StepGroups, in_bins
from rolloupe.query import SampleQuery
from rolloupe.query.engine.names import qualified
from rolloupe.query.filter.parser import quoted
from rolloupe.questions import GradientQuery

WHOLE_RUN = GradientQuery()
MOST_SAMPLES = 3
TOLERANCE = 1e-9


TRAIN = "train"
"""Only its samples are trained on."""


def gradient(run: OpenRun, asked: GradientQuery = WHOLE_RUN) -> RunGradient:
    """Add up what the trained samples of a window pull. Raises `BadQuery` for an unknown metric."""
    splits = [split.name for split in query.splits(run, quick=True)]
    if splits and TRAIN not in splits:
        return _nothing(asked, f"the run has evaluations only ({', '.join(splits[:5])}), so that it has no gradient")
    correct = correctness_of(run, metrics_of(run.snapshot(), TRAIN), asked.correct)
    scope = SampleQuery(splits=(TRAIN,), step_min=asked.step_min, step_max=asked.step_max)
    pulls = Pulls(run, scope, asked.env, correct)
    if not pulls.trained.any():
        return _nothing(asked, "no trained sample there has a reward")
    by_step = _by_step(pulls)
    known = _correctness(run, pulls, correct) if correct else None
    all_right, all_wrong = _all_alike(pulls, known)
    weights = pulls.sums(pulls.on_rewards)
    shaped = weights * (all_right | all_wrong)
    return RunGradient(
        step_min=asked.step_min, step_max=asked.step_max, env=asked.env,
        samples=int(pulls.trained.sum()), discarded=int((~pulls.trained).sum()),
        groups=len(pulls.grouping), dead=int(pulls.is_dead.sum()),
        single=int((pulls.grouping.sizes == 1).sum()),
        effective=float(weights.sum() ** 2 / (weights @ weights)) if weights.any() else 0.0,
        by_step=in_bins(by_step, asked.bins) if asked.bins else by_step, correct=correct,
        all_right=int(all_right.sum()), all_wrong=int(all_wrong.sum()),
        shaping=pulls.share("shaping", pulls.spread(shaped) > 0) if correct else None,
        shaping_samples=pulls.ids(_most(shaped)),
        dead_samples=pulls.ids(_latest(pulls)),
        by_env=by_env(pulls), by_length=by_length(pulls), by_outcome=by_outcome(pulls, known),
        prompts=_prompts(run, asked, correct),
    )  # fmt: skip


def _nothing(asked: GradientQuery, note: str) -> RunGradient:
    """The gradient of no samples."""
    return RunGradient(
        step_min=asked.step_min, step_max=asked.step_max, env=asked.env, samples=0, discarded=0, groups=0, dead=0,
        single=0, effective=0.0, by_step=[], correct="", all_right=0, all_wrong=0, shaping=None, shaping_samples=[],
        dead_samples=[], by_env=[], by_length=[], by_outcome=[], prompts=None, note=note,
    )  # fmt: skip


def _correctness(run: OpenRun, pulls: Pulls, metric: str) -> Correctness:
    bar = query.evals_bar(run, metric, None)
    values = pulls.numbers(metric) * (-1 if bar.falls else 1)
    least = -bar.value if bar.falls else bar.value
    is_right: Mask = values >= least - TOLERANCE * max(1.0, abs(least))
    right, wrong = ("<=", ">") if bar.falls else (">=", "<")
    filters = (f"{quoted(qualified(metric, 'metric'))} {sign} {bar.value:g}" for sign in (right, wrong))
    return Correctness(~np.isnan(values), is_right, *filters)


def _all_alike(pulls: Pulls, correct: Correctness | None) -> tuple[Mask, Mask]:
    """The groups of which every trained sample is right, and those of which every one is wrong."""
    if correct is None:
        return np.zeros(len(pulls.sizes), np.bool_), np.zeros(len(pulls.sizes), np.bool_)
    right, known = (pulls.sums(one & pulls.trained) for one in (correct.is_right, correct.is_known))
    is_known = (pulls.sizes > 0) & (known == pulls.sizes)
    return is_known & (right == pulls.sizes), is_known & (right == 0)


def _by_step(pulls: Pulls) -> list[StepGroups]:
    steps, number = np.unique(_steps(pulls), return_inverse=True)
    counts, dead = np.bincount(number), np.bincount(number[pulls.is_dead], minlength=len(steps))
    return [StepGroups(*row) for row in zip(steps.tolist(), counts.tolist(), dead.tolist(), strict=True)]


def _steps(pulls: Pulls) -> Places:
    """The step of each group."""
    return pulls.numbers("step")[pulls.grouping.starts].astype(np.int64)


def _most(weights: Floats) -> Places:
    """The groups of the largest weights, if these are more than 0."""
    largest = np.argsort(-weights, kind="stable")[:MOST_SAMPLES]
    return largest[weights[largest] > 0]


def _latest(pulls: Pulls) -> Places:
    """The latest dead groups."""
    dead = np.flatnonzero(pulls.is_dead)
    return dead[np.argsort(-_steps(pulls)[dead], kind="stable")][:MOST_SAMPLES]


def _prompts(run: OpenRun, asked: GradientQuery, correct: str) -> PromptCounts | None:
    """How prompts fared; None for one environment alone, as prompts are counted over all."""
    if asked.env is not None:
        return None
    found = query.grid(run, TRAIN, correct, step_min=asked.step_min, step_max=asked.step_max, limit=0)
    own = {name: count for name, count in found.counts.items() if name != "unbeaten"}
    return PromptCounts(metric=found.metric, once=found.once, **own)
