"""Rules about shares of the samples that rise."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule, enough
from rolloupe.insight.curves import CurveName, HasCurves

LEAST = 10
"""The least number of steps to compare."""

ERRORS = 2.0
"""By so many standard errors must a rise exceed what is worth a look: shares of few samples are coarse."""


class RisingRule(NamedTuple):
    """What a rule about a rising share looks at."""

    metric: str
    what: str
    rise: float

    def look(self, source: HasCurves) -> Iterator[Alarm]:
        """Compare the last fifth of the steps with the first."""
        curve = enough(source.curve("sample", self.metric, "mean"), LEAST, self.metric)
        early, late = (float(np.mean(part)) for part in curve.ends())
        noise = ERRORS * sum(np.var(part) / len(part) for part in curve.ends()) ** 0.5
        if late > 2 * early and late > early + self.rise + noise:
            of = CurveName("sample", self.metric)
            text = f"in the last fifth of the steps; {early:.0%} in the first"
            yield Alarm(
                f"{self.what} rise to {late:.0%}", text, *curve.late_steps(),
                where=f"{self.metric} > {early + self.rise:.2g}", sort=self.metric, curves=(of,),
            )  # fmt: skip

    def rule(self, name: str, title: str) -> Rule:
        """Return the rule."""
        words = (
            f"the mean share in the last fifth of the steps is twice that of the first, and {self.rise:.0%} more, by "
            f"{ERRORS:g} standard errors"
        )
        return Rule(name, title, words, self.look)


RULES = (
    # Responses repeat themselves more and more.
    RisingRule("derived.repeated_4grams", "Repeated 4-grams", 0.1).rule("repeated_text", "Repeated text"),
    # More and more thoughts never end.
    RisingRule("derived.unclosed_think", "Unclosed thoughts", 0.05).rule("unclosed_think", "Unclosed thoughts"),
)
