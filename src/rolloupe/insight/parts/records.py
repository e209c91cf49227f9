"""What says what each part of the reward pays for."""

from msgspec import Struct


class PartTerm(Struct, frozen=True, kw_only=True):
    """One summand of a formula: `weight` times `words`."""

    words: str
    """Such as `has “<answer>”` or `min(uses of “check”, 6)`."""
    weight: float
    share: float
    """The share of the part's variance that it explains beside the terms before it, in the groups it was chosen on."""
    phrase: str = ""
    """In lower case, `#` for a number; empty for a behaviour."""
    behaviour: str = ""
    """The derived metric, such as `derived.repeated_sentences`; empty for a phrase."""
    pattern: str = ""
    """A regular expression that finds the phrase, whatever its case; empty for a behaviour."""
    where: str = ""
    """A filter that lists the samples with the behaviour; empty for a phrase, which a search finds."""


class RewardPart(Struct, frozen=True, kw_only=True):
    """A part of the reward, and what of the texts explains it among siblings."""

    name: str
    """The sample metric; `reward` for a reward without parts; `the rest of the reward` for what no part explains."""
    text: str
    """The formula with its R², or the reason why it has none."""
    terms: list[PartTerm] = []
    r2: float | None = None
    """The share of the variance among siblings that the formula explains, in groups that it was not chosen on; None
    where the part does not vary, or in too few groups."""
    spread: float = 0.0
    """The standard deviation among siblings."""
    groups: int = 0
    """The number of groups where it varies."""


class RunParts(Struct, frozen=True, kw_only=True):
    """What the parts of the reward pay for in a window of a run."""

    parts: list[RewardPart]
    """Those best explained first."""
    whole: str
    """Such as `reward = correct + format`; empty if the parts do not add up to the reward."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    """The number of samples whose words were looked at."""
    pending: int
    """How many samples of the steps the index has not reached."""
    note: str
    """Says in a sentence what was looked at, and how far the parts can be compared."""
