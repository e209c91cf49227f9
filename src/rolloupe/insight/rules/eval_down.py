"""The reward goes up while an evaluation goes down."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves, History
from rolloupe.insight.names import CurveName

RISE, FALL, LEAST = 0.5, -0.75, 8
DROP = 0.02


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the trends since half of the evaluations."""
    reward = source.curve("sample", "reward", "mean")
    if reward is None:
        return
    for name in source.names("eval"):
        score = source.curve("eval", "", "score", name)
        if score is None or len(score := score.finite()) < 2 * LEAST:
            continue
        late = score.at(slice(len(score) // 2, None))
        first, last = int(late.steps[0]), int(late.steps[-1])
        paid = reward.finite()
        paid = paid.at((paid.steps >= first) & (paid.steps <= last))
        drop = float(np.mean(late.values[: len(late) // 3]) - np.mean(late.values[-(len(late) // 3) :]))
        if len(paid) >= LEAST and _trend(paid) > RISE and _trend(late) < FALL and drop > DROP:
            gain = paid.late() - paid.early()
            yield Alarm(
                f"Reward up, {name} down since step {first}",
                f"reward {gain:+.3g}, {name} {-drop:+.3g}",
                first,
                last,
                split=name,
                where=source.wrong(name),
                curves=(CurveName("sample", "reward"), CurveName("eval", "", name)),
            )


def _trend(history: History) -> float:
    """The rank correlation of values and steps: 1 for a curve that always rises, 0 for a constant one."""
    _, places, counts = np.unique(history.values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal values share the mean of their ranks
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]) if len(counts) > 1 else 0.0


RULE = Rule(
    "eval_down", "Reward up while an evaluation is down",
    f"over the second half of {2 * LEAST} scores or more, the rank correlation of the reward with the step is above "
    f"{RISE:g}, that of the score below {FALL:g}, and the score lost more than {DROP:g}",
    look,
)  # fmt: skip
