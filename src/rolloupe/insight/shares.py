"""Rules about shares of the samples that rise."""

from collections.abc import Iterator
from typing import NamedTuple

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves
from rolloupe.insight.names import CurveName

LEAST = 10
"""The least number of steps to compare."""


class RisingRule(NamedTuple):
    """What a rule about a rising share looks at."""

    metric: str
    what: str
    rise: float

    def look(self, source: HasCurves) -> Iterator[Alarm]:
        """Compare the last fifth of the steps with the first."""
        curve = source.curve("sample", self.metric, "mean")
        if curve is None or len(curve := curve.finite()) < LEAST:
            return
        early, late = curve.early(), curve.late()
        if late > 2 * early and late > early + self.rise:
            of = CurveName("sample", self.metric)
            text = f"in the last fifth of the steps; {early:.0%} in the first"
            yield Alarm(f"{self.what} rise to {late:.0%}", text, *curve.late_steps(), sort=self.metric, curves=(of,))

    def rule(self, name: str, title: str) -> Rule:
        """Return the rule."""
        words = f"the share in the last fifth of the steps is twice that of the first, and {self.rise:.0%} more"
        return Rule(name, title, words, self.look)
