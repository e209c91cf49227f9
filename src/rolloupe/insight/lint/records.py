"""What lint returns."""

from msgspec import Struct

from rolloupe.insight.too_little import UncheckedRule


class BrokenRule(Struct, frozen=True, kw_only=True):
    """A rule that some samples break."""

    rule: str
    words: str
    """When it is broken, in words."""
    is_certain: bool
    """True if this is wrong without a threshold; False for what needs a look."""
    text: str
    """One sentence with the number that matters."""
    count: int
    """How many samples are known to break it: of a rule about the series of a step, those with its extreme tokens."""
    samples: list[str]
    """The ids of some of them."""


class RunLint(Struct, frozen=True, kw_only=True):
    """The rules that the samples of a run break."""

    broken: list[BrokenRule]
    """Certain ones first, then those that need a look."""
    unchecked: list[UncheckedRule]
    checked: list[str]
    """The rules that could be checked, by name."""
    samples: int
    """How many samples were looked at."""
    discarded: int = 0
    """How many of them were not trained on: rules about the update leave these out."""
    read: int = 0
    """How many of them were read whole, spread evenly over the steps, for the rules that need their arrays or texts."""

    @property
    def is_broken(self) -> bool:
        """True if a certain rule is broken."""
        return any(one.is_certain for one in self.broken)
