"""Rules about a run as a whole, and about the token series of its steps."""

from collections.abc import Sequence

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.insight.curves import counted
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, Unknown, lint_rule

MOST_LOSSES = 3


@lint_rule("the run's files say that some of its data was never written, as on a full disk", is_certain=True)
def lost_data(data: LintData) -> Breach | None:
    """The run's own files say that some of its data was never written, at whichever step."""
    lost = [loss.reason for loss in data.run.format.losses(data.run.info)]
    more = f"; and {len(lost) - MOST_LOSSES:,} more, in the problems of the run" if len(lost) > MOST_LOSSES else ""
    return Breach(NOWHERE, f"{'; '.join(lost[:MOST_LOSSES])}{more}.", total=len(lost)) if lost else None


@lint_rule(
    "samples of a group have different prompts, models or files that seem no parts of one log, or no key names the "
    "groups and one of the rows may"
)
def other_groups(data: LintData) -> Breach | None:
    """The groups look as if another key of the rows made them, at whichever step."""
    doubts = query.group_doubts(data.run)
    return Breach(NOWHERE, f"{'; '.join(doubts)}.", total=len(doubts)) if doubts else None


MOST_PLACES = 3


@lint_rule(
    "the run was resumed and wrote steps again, or its files look so: one goes back to earlier steps, or those of the "
    "last steps are older than those of the steps before"
)
def several_launches(data: LintData) -> Breach | None:
    """A run was resumed and wrote steps again into its own files, at whichever step."""
    snapshot = data.run.snapshot()
    again = {key: stats.superseded for key, stats in snapshot.steps.items() if stats.superseded}
    texts = data.run.launch_doubts()
    if again:
        steps = [step for _, step in again]
        span = f"step {min(steps)}" if len(steps) == 1 else f"steps {min(steps)} to {max(steps)}"
        left_out = f"{counted(sum(again.values()))} of {span} left out: a later launch wrote these steps again"
        texts = [left_out, *texts]
    more = f"; and {len(texts) - MOST_PLACES:,} more places" if len(texts) > MOST_PLACES else ""
    total = sum(again.values()) + len(texts) - bool(again)
    return Breach(NOWHERE, f"{'; '.join(texts[:MOST_PLACES])}{more}.", total=total) if texts else None


LOGPROBS = ("logprobs", "ref_logprobs", "trainer_logprobs", "rollout_logprobs", "old_logprobs")
NO_LOGPROBS = Unknown("the index has no log-probabilities by token of these samples")

SeriesOfStep = tuple[str, int, str]
"""Split, step and name."""

MOST_STEPS = 3


def step_breach(data: LintData, bad: Sequence[SeriesOfStep], text: str, *, highest: bool = False) -> Breach | None:
    """The steps with a bad series, and the samples of the first steps with its extreme tokens."""
    if not bad:
        return None
    steps = sorted({key[:2] for key in bad})
    names = ", ".join(sorted({key[2] for key in bad}))
    ids = list(dict.fromkeys(id_ for key in sorted(bad)[:MOST_STEPS] for id_ in _ids(data, key, highest=highest)))
    where = f"{counted(len(steps), 'step')}, first at {steps[0][0]} {steps[0][1]}"
    return Breach(NOWHERE, f"{text} at {where}: {names}.", ids, len(ids))


def _ids(data: LintData, key: SeriesOfStep, *, highest: bool) -> list[str]:
    split, step, name = key
    try:
        series = [series for series in query.token_series(data.run, split, step) if series.name == name]
    except NotFound:
        return []
    return [str(token.key) for own in series for token in (own.highest if highest else own.lowest)]


LEAST_TOKENS = 16


@lint_rule(f"all log-probabilities of a step with {LEAST_TOKENS} tokens or more are equal", is_certain=True)
def equal_logprobs(data: LintData) -> Breach | Unknown | None:
    """All log-probabilities of a step are the same number."""
    series = {key: stats.moments for key, stats in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, of in series.items() if of.count >= LEAST_TOKENS and of.min == of.max]
    return step_breach(data, bad, "All log-probabilities are equal")


RATIOS = ("importance_ratio", "ratio")
OFF = 0.05


@lint_rule(f"the mean importance ratio of a step is off 1 by more than {OFF:g}")
def off_policy(data: LintData) -> Breach | Unknown | None:
    """The trained policy is not the one that sampled."""
    series = {key: stats.moments for key, stats in data.series().items() if key[2] in RATIOS}
    if not series:
        return Unknown("the index has no importance ratios by token of these samples")
    bad = [key for key, of in series.items() if of.count and abs(of.mean - 1) > OFF]
    return step_breach(data, bad, f"The mean importance ratio is off 1 by more than {OFF:g}", highest=True)


SLACK = 1e-3
"""Rounding in half precision."""


@lint_rule(f"a log-probability is above 0, by {SLACK:g} or more", is_certain=True)
def positive_logprobs(data: LintData) -> Breach | Unknown | None:
    """A log-probability is above 0."""
    series = {key: stats.moments for key, stats in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, moments in series.items() if moments.count and moments.max > SLACK]
    return step_breach(data, bad, "Log-probabilities are above 0", highest=True)
