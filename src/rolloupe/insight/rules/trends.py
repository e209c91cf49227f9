"""Rules about curves that rise or fall far."""

import re
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from rolloupe.insight import curves

ENTROPY_SHARE, ENTROPY_LEAST = 0.2, 20
ENTROPIES = [("token", "entropy", "mean")]
ENTROPY = r"(^|/)(policy_|token_|mean_)?entropy(/mean)?$"
OF_SAMPLES = "derived.mean_entropy"


def _entropy(source: curves.RunCurves) -> tuple[curves.CurveName, curves.History, float, float]:
    """Return the first curve of entropy that a run has, with its early and its late median. Raises `NotChecked`."""
    name, curve = next(curves.all_curves(source, ENTROPIES, ENTROPY), (None, None))
    if name is None:
        raise curves.NotChecked("the run has no entropy")
    entropy = curves.enough(curve, ENTROPY_LEAST, "entropy")
    return name, entropy, entropy.early(), entropy.late()


@curves.rule("Entropy collapse")
def entropy_collapse(source: curves.RunCurves) -> Iterator[curves.Alarm]:
    """The median entropy of the last fifth of {ENTROPY_LEAST} steps or more is less than {ENTROPY_SHARE:.0%} of that of
    the first.
    """
    name, entropy, early, late = _entropy(source)
    if 0 <= late < ENTROPY_SHARE * early:
        high = np.flatnonzero(entropy.values[: -max(1, len(entropy) // 5)] >= ENTROPY_SHARE * early)
        first, last = int(entropy.steps[high[-1] + 1]), int(entropy.steps[-1])
        own = source.curve("sample", OF_SAMPLES, "mean")
        where = ""
        if own is not None and len(own := own.finite()) and own.late() < ENTROPY_SHARE * own.early():
            where = f"{OF_SAMPLES} < {ENTROPY_SHARE * own.early():.3g}"  # this is the same entropy
        yield curves.Alarm(
            f"Entropy fell from {early:.3g} to {late:.3g}",
            f"{100 * late / early:.2g}% of what it was in the first steps ({name.name})",
            first, last, where=where, sort=OF_SAMPLES, descending=False, curves=(name,),
        )  # fmt: skip


ENTROPY_TIMES, ENTROPY_MORE = 3.0, 0.5


@curves.rule("Entropy explosion")
def entropy_explosion(source: curves.RunCurves) -> Iterator[curves.Alarm]:
    """The median entropy of the last fifth of {ENTROPY_LEAST} steps or more is {ENTROPY_TIMES:g} times that of the
    first, and {ENTROPY_MORE:g} more.
    """
    name, entropy, early, late = _entropy(source)
    if late > max(ENTROPY_TIMES * early, early + ENTROPY_MORE):
        yield curves.Alarm(
            f"Entropy rose from {early:.3g} to {late:.3g}",
            f"medians of the first and last fifth of the steps, half of it by {entropy.windows().halfway(early, late)}",
            *entropy.late_steps(), sort=OF_SAMPLES, curves=(name,),
        )  # fmt: skip


REWARD = curves.CurveName("sample", "reward")
RISE, FALL, SCORES, FEWEST, SHOWN = 0.5, -0.75, 16, 8, 5
DROP, LOST, CHANCE = 0.02, 0.1, 0.01
EVALS = set("eval evals evaluation test val valid validation heldout held".split())
GOOD = set("acc accuracy correct score scores reward pass passed success solved resolved win exact f1 rougel".split())
BENCHMARKS = set("aime amc arc bbh gpqa gsm8k hellaswag humaneval ifeval livecodebench math mbpp mmlu".split())
OTHER = set("std min loss len length tokens clip truncated ratio ref kl entropy time turns num count".split())
"""Words of the names of scores that a trainer logs of an evaluation: the first, and any other or the last, and none."""


@curves.rule("Reward up while an evaluation is down")
def eval_down(source: curves.RunCurves) -> Iterator[curves.Alarm]:
    """Over the second half of {SCORES} scores or more the rank correlation of the reward with the step is above
    {RISE:g}, that of the score below {FALL:g}, and the score lost more than {DROP:g}. Of scores that the trainer logs,
    {FEWEST} or more, all count if they are fewer; they lost {LOST:.0%} or more, by chance in {CHANCE:.0%} of runs, or
    clearly fell since their best while the reward rose and did not fall.
    """
    reward = curves.enough(source.curve("sample", "reward", "mean"), 1, "rewards")
    sampled = {name: source.curve("eval", "", "score", name) for name in source.names("eval")}
    logged = {name: source.curve("trainer", name) for name in source.names("trainer") if _is_score(name)}
    scores = {name: curve.finite() for name, curve in (logged | sampled).items() if curve is not None}
    if not scores:
        raise curves.NotChecked("the run has no evaluation")
    of_reward, short = reward.windows(), []
    for name, score in scores.items():
        is_logged = name not in sampled
        fewest = FEWEST if is_logged else SCORES
        if len(score) < fewest:
            short.append(f"{curves.counted(len(score), 'score')} of {name}; {fewest} are needed")
            continue
        late = score.at(slice(len(score) // 2 if len(score) >= SCORES else 0, None))
        lucky = NormalDist().inv_cdf(CHANCE / len(logged)) / (len(late) - 1) ** 0.5 if is_logged else FALL
        least = max(DROP, LOST * abs(late.early())) if is_logged else DROP
        first, last = int(late.steps[0]), int(late.steps[-1])
        paid = reward.at((reward.steps >= first) & (reward.steps <= last))
        scale, third = curves.scale_of(late.values), len(late) // 3
        drop = scale * float(np.mean(late.values[:third] / scale) - np.mean(late.values[-third:] / scale))
        is_down = drop > least and rank_correlation(late) < min(FALL, lucky)
        is_told = is_down and len(paid) >= FEWEST and rank_correlation(paid) > RISE
        has_risen = of_reward.change > 0 and not of_reward.has_fallen
        if is_logged and has_risen and not is_told and (whole := score.windows()).has_fallen:
            first, drop, paid = whole.best_step, whole.best - whole.ends[1], reward
            is_told = drop > least
        if is_told:
            yield curves.Alarm(
                f"Reward up, {name} down since step {first}",
                f"reward {paid.late() - paid.early():+.3g}, {name} {-drop:+.3g}".replace("-", "−"),
                first, last, split="" if is_logged else name, where="" if is_logged else source.wrong(name),
                curves=(curves.CurveName("trainer", name) if is_logged else curves.CurveName("eval", "", name), REWARD),
            )  # fmt: skip
    if short:
        raise curves.NotChecked("; ".join(short[:SHOWN]) + ", …" * (len(short) > SHOWN))


def _is_score(name: str) -> bool:
    first, *words = re.split(r"[^a-z0-9]+", name.lower())
    is_score = not GOOD.isdisjoint(words) or "".join(words[-1:]).rstrip("0123456789") in BENCHMARKS
    return first in EVALS and is_score and OTHER.isdisjoint(words)


def rank_correlation(history: curves.History) -> float:
    """Return the rank correlation of values and steps: 1 for a curve that always rises, 0 for a constant one."""
    of_values = curves.ranks(history.values)
    return float(np.corrcoef(np.arange(len(of_values)), of_values)[0, 1]) if np.ptp(of_values) else 0.0


LONGER_ALWAYS, LONGER_UNPAID, LENGTHS = 4.0, 2.0, 20
UNITS = {"response_tokens": "tokens", "response_chars": "characters"}


@curves.rule("Length explosion")
def length_explosion(source: curves.RunCurves) -> Iterator[curves.Alarm]:
    """The median length of the last fifth of {LENGTHS} steps or more is {LONGER_ALWAYS:g} times that of the first, or
    {LONGER_UNPAID:g} times and the reward is not higher.
    """
    name, curve = next(curves.all_curves(source, [("sample", name, "mean") for name in UNITS]), (None, None))
    if name is None:
        raise curves.NotChecked("the run has no lengths of responses")
    lengths = curves.enough(curve, LENGTHS, "lengths of responses")
    if lengths.early() <= 0:
        raise curves.NotChecked("the first responses have a length of 0")
    rewards = source.curve("sample", "reward", "mean")
    times = lengths.late() / lengths.early()
    is_paid = rewards is None or not len(rewards := rewards.finite()) or rewards.late() > rewards.early()
    if times > (LONGER_ALWAYS if is_paid else LONGER_UNPAID):
        gain = "" if is_paid else ", and the reward is not higher"
        yield curves.Alarm(
            f"Responses are {times:.2g} times as long",
            f"{lengths.late():,.0f} {UNITS[name.name]} in the last fifth of the steps, "
            f"{lengths.early():,.0f} in the first{gain}",
            *lengths.late_steps(), where=f"{name.name} > {LONGER_UNPAID * lengths.early():.0f}", sort=name.name,
            curves=(name,),
        )  # fmt: skip


REWARD_SHARE, ERRORS, REWARDS = 0.5, 4.5, 20
ERROR_OF_MEDIAN = 1.2533
"""The standard error of a median, as a multiple of that of a mean of as many values."""


@curves.rule("Reward collapse")
def reward_collapse(source: curves.RunCurves) -> Iterator[curves.Alarm]:
    """The median reward of the last fifth of {REWARDS} steps or more is below that of the best fifth, by
    {REWARD_SHARE:g} standard deviations of the samples of a step and by {ERRORS:g} standard errors of the difference.
    """
    rewards = curves.enough(source.curve("sample", "reward", "mean"), REWARDS, "rewards")
    spreads = curves.enough(source.curve("sample", "reward", "std"), 0, "deviations of rewards").values
    width = len(rewards) // 5
    windows = np.median(np.lib.stride_tricks.sliding_window_view(rewards.values, width), axis=1)
    best, late = float(windows.max()), float(windows[-1])
    spread = float(np.median(spreads)) if len(spreads) else 0.0
    error = ERROR_OF_MEDIAN * curves.step_noise(rewards.values) * np.sqrt(2 / width)
    if best - late > max(REWARD_SHARE * spread, ERRORS * error, 1e-9 * abs(best)):
        fallen = rewards.at(slice(int(windows.argmax()) + width - 1, None))
        fallen = fallen.at(fallen.values < (best + late) / 2)
        first = int(fallen.steps[0]) if len(fallen) else rewards.late_steps()[0]
        peak = int(rewards.steps[rewards.values.argmax()])
        since = f", since then −{(best - late) / best:.0%}" if best > 0 and late >= 0 else ""
        yield curves.Alarm(
            f"Reward fell from {best:.3g} to {late:.3g}",
            f"median of the last {width} steps, and of the best {width} before them: best at step {peak}{since}",
            first, int(rewards.steps[-1]), where=f"reward < {best:.3g}", sort="reward", descending=False,
            curves=(REWARD,),
        )  # fmt: skip
