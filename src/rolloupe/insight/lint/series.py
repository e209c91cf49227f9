"""What rules about token series have in common: they look at the sums of each step."""

from collections.abc import Sequence

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, Unknown, counted

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
