"""The reward falls far below what it was."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule, enough
from rolloupe.insight.curves import CurveName, HasCurves

SHARE, NOISE, LEAST = 0.5, 6.0, 20


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the steps with the best fifth before it."""
    rewards = enough(source.curve("sample", "reward", "mean"), LEAST, "rewards")
    spreads = enough(source.curve("sample", "reward", "std"), 0, "deviations of rewards")
    width = len(rewards) // 5
    windows = np.median(np.lib.stride_tricks.sliding_window_view(rewards.values, width), axis=1)
    best, late = float(windows.max()), float(windows[-1])
    # Neighbours differ by the noise of two steps.
    noise = float(np.median(np.abs(np.diff(rewards.values)))) / 0.6745 / np.sqrt(2)
    spread = float(np.median(spreads.finite().values)) if len(spreads.finite()) else 0.0
    if best - late > max(SHARE * spread, NOISE * noise, 1e-9 * abs(best)):
        began = int(windows.argmax()) + width - 1
        fell = rewards.at(slice(began, None))
        fell = fell.at(fell.values < (best + late) / 2)
        first = int(fell.steps[0]) if len(fell) else rewards.late_steps()[0]
        yield Alarm(
            f"Reward fell from {best:.3g} to {late:.3g}",
            f"median of the last {width} steps, and of the best {width} before them",
            first, int(rewards.steps[-1]), where=f"reward < {best:.3g}", sort="reward", descending=False,
            curves=(CurveName("sample", "reward"),),
        )  # fmt: skip


RULES = (Rule(
    "reward_collapse", "Reward collapse",
    f"the median reward of the last fifth of {LEAST} steps or more is below that of the best fifth, by {SHARE:g} "
    f"standard deviations of the samples of a step and {NOISE:g} of the noise from step to step",
    look,
),)  # fmt: skip
