"""What is wrong with the samples of a run."""

from msgspec import Struct


class BrokenRuleView(Struct, kw_only=True):
    """A rule that some samples break."""

    rule: str
    words: str
    """When it is broken, in words."""
    is_certain: bool
    """True if this is wrong without a threshold."""
    text: str
    """One sentence with the number that matters."""
    count: int
    samples: list[str]
    """The ids of some."""


class UncheckedRuleView(Struct, kw_only=True):
    """A rule that could not be checked."""

    rule: str
    reason: str


class LintReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/lint?split=&step_min=&step_max=`: the certain rules first."""

    run: str
    broken: list[BrokenRuleView]
    unchecked: list[UncheckedRuleView]
    checked: list[str]
    samples: int
    discarded: int
    """How many of them were not trained on."""
    read: int
    """How many of them were read whole, for the rules that need it."""
