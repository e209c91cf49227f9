"""The reward goes up while an evaluation goes down."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, NotChecked, Rule, enough
from rolloupe.insight.curves import CurveName, HasCurves, History

RISE, FALL, LEAST = 0.5, -0.75, 8
DROP = 0.02


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the trends since half of the evaluations."""
    reward = enough(source.curve("sample", "reward", "mean"), 1, "rewards")
    curves = {name: source.curve("eval", "", "score", name) for name in source.names("eval")}
    scores = {name: curve.finite() for name, curve in curves.items() if curve is not None}
    if not scores:
        raise NotChecked("the run has no evaluation")
    short = []
    for name, score in scores.items():
        if len(score) < 2 * LEAST:
            short.append(f"{len(score)} score{'' if len(score) == 1 else 's'} of {name}; {2 * LEAST} are needed")
            continue
        late = score.at(slice(len(score) // 2, None))
        first, last = int(late.steps[0]), int(late.steps[-1])
        paid = reward.finite()
        paid = paid.at((paid.steps >= first) & (paid.steps <= last))
        if len(paid) < LEAST:
            short.append(f"{len(paid)} steps with rewards in the second half of {name}; {LEAST} are needed")
            continue
        drop = float(np.mean(late.values[: len(late) // 3]) - np.mean(late.values[-(len(late) // 3) :]))
        if _trend(paid) > RISE and _trend(late) < FALL and drop > DROP:
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
    if short:
        raise NotChecked("; ".join(short))


def _trend(history: History) -> float:
    """The rank correlation of values and steps: 1 for a curve that always rises, 0 for a constant one."""
    _, places, counts = np.unique(history.values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal values share the mean of their ranks
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]) if len(counts) > 1 else 0.0


RULES = (Rule(
    "eval_down", "Reward up while an evaluation is down",
    f"over the second half of {2 * LEAST} scores or more, the rank correlation of the reward with the step is above "
    f"{RISE:g}, that of the score below {FALL:g}, and the score lost more than {DROP:g}",
    look,
),)  # fmt: skip
