"""Rules about the token series of steps: they look at the sums of each step."""

from collections.abc import Sequence

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule, Unknown, counted

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
        found = query.token_series(data.run, split, step)
    except NotFound:
        return []
    own = [one for one in found if one.name == name]
    return [str(token.key) for one in own for token in (one.highest if highest else one.lowest)]


LEAST_TOKENS = 16


def equal_logprobs(data: LintData) -> Breach | Unknown | None:
    """All log-probabilities of a step are the same number.

    Compare the least with the greatest of each step.
    """
    series = {key: one.moments for key, one in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, one in series.items() if one.count >= LEAST_TOKENS and one.min == one.max]
    return step_breach(data, bad, "All log-probabilities are equal")


EQUAL_LOGPROBS = LintRule(
    "equal_logprobs", f"all log-probabilities of a step with {LEAST_TOKENS} tokens or more are equal", equal_logprobs,
    is_certain=True,
)  # fmt: skip


RATIOS = ("importance_ratio", "ratio")
OFF = 0.05


def off_policy(data: LintData) -> Breach | Unknown | None:
    """The trained policy is not the one that sampled.

    Look at the mean ratio of each step.
    """
    series = {key: one.moments for key, one in data.series().items() if key[2] in RATIOS}
    if not series:
        return Unknown("the index has no importance ratios by token of these samples")
    bad = [key for key, one in series.items() if one.count and abs(one.mean - 1) > OFF]
    return step_breach(data, bad, f"The mean importance ratio is off 1 by more than {OFF:g}", highest=True)


OFF_POLICY = LintRule("off_policy", f"the mean importance ratio of a step is off 1 by more than {OFF:g}", off_policy)


SLACK = 1e-3
"""Rounding in half precision."""


def positive_logprobs(data: LintData) -> Breach | Unknown | None:
    """A log-probability is above 0.

    Look at the extremes of each step.
    """
    series = {key: one for key, one in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, one in series.items() if one.moments.count and one.moments.max > SLACK]
    return step_breach(data, bad, "Log-probabilities are above 0", highest=True)


POSITIVE_LOGPROBS = LintRule(
    "positive_logprobs", f"a log-probability is above 0, by {SLACK:g} or more", positive_logprobs, is_certain=True
)


RULES = (
    EQUAL_LOGPROBS,
    OFF_POLICY,
    POSITIVE_LOGPROBS,
)
