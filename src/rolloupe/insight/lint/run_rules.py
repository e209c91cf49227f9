"""Rules about a run as a whole, and about the token series of its steps."""

from collections.abc import Mapping, Sequence

from rolloupe import query
from rolloupe.index import Moments
from rolloupe.insight.curves import NotChecked, counted
from rolloupe.insight.lint.rule import Breach, LintData, lint_rule
from rolloupe.query import SampleQuery

MOST_NAMED = 3
"""How many losses, launches or steps a sentence names."""
MOST_TOKENS = 16
"""How many extreme tokens of a step name its samples, one of each."""


@lint_rule(is_certain=True)
def lost_data(data: LintData) -> Breach | None:
    """The run's files say that some of its data was never written, as on a full disk."""
    lost = [loss.reason for loss in data.run.format.losses(data.run.info)]
    more = f"; and {len(lost) - MOST_NAMED:,} more, in the problems of the run" if len(lost) > MOST_NAMED else ""
    return Breach(f"{'; '.join(lost[:MOST_NAMED])}{more}.", len(lost)) if lost else None


@lint_rule()
def other_groups(data: LintData) -> Breach | None:
    """A group holds samples of different prompts, of different models or from unrelated files; or no key is known to
    name the groups, though one of the rows may.
    """
    doubts = query.group_doubts(data.run)
    return Breach(f"{'; '.join(doubts)}.", len(doubts)) if doubts else None


@lint_rule()
def several_launches(data: LintData) -> Breach | None:
    """The run was resumed and wrote steps again, or its files look so: one goes back to earlier steps, or those of the
    last steps are older than those of the steps before.
    """
    snapshot = data.run.snapshot()
    again = {key: stats.superseded for key, stats in snapshot.steps.items() if stats.superseded}
    texts = data.run.launch_doubts()
    count = sum(again.values()) + len(texts)
    if again:
        steps = [step for _, step in again]
        span = f"step {min(steps)}" if len(steps) == 1 else f"steps {min(steps)} to {max(steps)}"
        left_out = f"{counted(sum(again.values()))} of {span} left out: a later launch recorded these steps again"
        texts = [left_out, *texts]
    more = f"; and {len(texts) - MOST_NAMED:,} more places" if len(texts) > MOST_NAMED else ""
    return Breach(f"{'; '.join(texts[:MOST_NAMED])}{more}.", count) if texts else None


LOGPROBS = ("logprobs", "ref_logprobs", "trainer_logprobs", "rollout_logprobs", "old_logprobs")
RATIOS = ("importance_ratio", "ratio")

SeriesOfStep = tuple[str, int, str]
"""Split, step and name."""


def _moments(data: LintData, names: Sequence[str], noun: str) -> Mapping[SeriesOfStep, Moments]:
    """Return the moments of the series with these names. Raises `NotChecked` without any."""
    moments = {key: of for key, of in data.series().items() if key[2] in names}
    if not moments:
        raise NotChecked(f"the index has no {noun} by token of these samples")
    return moments


def _step_breach(data: LintData, bad: Sequence[SeriesOfStep], text: str, *, highest: bool = False) -> Breach | None:
    """Return the steps with a bad series, and the samples of the first of them that have its extreme tokens."""
    if not bad:
        return None
    steps = sorted({key[:2] for key in bad})
    names = ", ".join(sorted({key[2] for key in bad}))
    ids: dict[str, None] = {}
    for split, step, name in sorted(bad)[:MOST_NAMED]:
        scope = SampleQuery(splits=(split,), step_min=step, step_max=step)
        worst = query.worst_tokens(data.run, scope, name, highest=highest, one_a_sample=True, limit=MOST_TOKENS)
        ids |= dict.fromkeys(str(token.key) for token in worst.tokens)
    where = f"{counted(len(steps), 'step')}, first at {steps[0][0]} {steps[0][1]}"
    return Breach(f"{text} at {where}: {names}.", len(ids), ids=[*ids])


LEAST_TOKENS = 16


@lint_rule(is_certain=True)
def equal_logprobs(data: LintData) -> Breach | None:
    """All log-probabilities of a step with {LEAST_TOKENS} tokens or more are equal."""
    series = _moments(data, LOGPROBS, "log-probabilities")
    bad = [key for key, of in series.items() if of.count >= LEAST_TOKENS and of.min == of.max]
    return _step_breach(data, bad, "All log-probabilities are equal")


OFF = 0.05


@lint_rule()
def off_policy(data: LintData) -> Breach | None:
    """The mean importance ratio of a step differs from 1 by more than {OFF:g}."""
    series = _moments(data, RATIOS, "importance ratios")
    bad = [key for key, of in series.items() if of.count and abs(of.mean - 1) > OFF]
    return _step_breach(data, bad, f"The mean importance ratio differs from 1 by more than {OFF:g}", highest=True)


SLACK = 1e-3
"""Rounding in half precision."""


@lint_rule(is_certain=True)
def positive_logprobs(data: LintData) -> Breach | None:
    """A log-probability is above 0, by {SLACK:g} or more."""
    series = _moments(data, LOGPROBS, "log-probabilities")
    bad = [key for key, of in series.items() if of.count and of.max > SLACK]
    return _step_breach(data, bad, "Log-probabilities are above 0", highest=True)
