"""What each part of the reward pays for."""

from msgspec import Struct


class PartTermView(Struct, kw_only=True):
    """One summand of a formula: `weight` times `words`."""

    words: str
    weight: float
    share: float
    """The share of the variance that it explains beside the terms before it."""
    phrase: str
    """In lower case, `#` for a number; empty for a behaviour."""
    behaviour: str
    pattern: str
    """A regular expression that finds the phrase, whatever its case; empty for a behaviour."""
    where: str
    """A filter that lists the samples with the behaviour; empty for a phrase."""


class RewardPartView(Struct, kw_only=True):
    """A part of the reward."""

    name: str
    text: str
    """The formula, or the reason why it has none."""
    terms: list[PartTermView]
    r2: float | None
    """Null where the part varies in too few groups."""
    spread: float
    """The standard deviation among siblings."""
    groups: int


class PartsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/parts?split=&step_min=&step_max=&env=`: the parts best explained first."""

    run: str
    parts: list[RewardPartView]
    whole: str
    """Such as `reward = correct + format`; empty if the parts do not add up to the reward."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    pending: int
    note: str
