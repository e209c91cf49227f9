"""The entropy of the policy falls to a small part of what it was."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, NotChecked, Rule, enough
from rolloupe.insight.curves import HasCurves, first_curve

SHARE, LEAST = 0.2, 20
OF_SAMPLES = "derived.mean_entropy"


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the entropy with the first."""
    found = first_curve(source, [("token", "entropy", "mean")], r"(^|/)(policy_|token_|mean_)?entropy(/mean)?$")
    if found is None:
        raise NotChecked("the run has no entropy")
    which, entropy = found[0], enough(found[1], LEAST, "entropy")
    early, late = entropy.early(), entropy.late()
    if 0 <= late < SHARE * early:
        high = np.flatnonzero(entropy.values[: -max(1, len(entropy) // 5)] >= SHARE * early)
        first, last = int(entropy.steps[high[-1] + 1]), int(entropy.steps[-1])
        text = f"{which.name} is {late:.3g}, {100 * late / early:.2g}% of the {early:.3g} of the first steps"
        yield Alarm(
            f"Entropy fell to {late:.3g}", text, first, last, where=_low(source), sort=OF_SAMPLES, descending=False,
            curves=(which,),
        )  # fmt: skip


def _low(source: HasCurves) -> str:
    """The filter of the samples whose entropy is low, if it is the same entropy."""
    own = source.curve("sample", OF_SAMPLES, "mean")
    is_same = own is not None and len(own := own.finite()) and own.late() < SHARE * own.early()
    return f"{OF_SAMPLES} < {SHARE * own.early():.3g}" if own is not None and is_same else ""


RULES = (Rule(
    "entropy_collapse", "Entropy collapse",
    f"the median entropy of the last fifth of {LEAST} steps or more is less than {SHARE:.0%} of that of the first",
    look,
),)  # fmt: skip
