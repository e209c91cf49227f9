"""Runs on which nothing goes wrong, simulated sample by sample where it matters: what no rule should ring at.

They have 30 to 5,000 steps, small and large batches, trends, slow wanderings, a start without updates, resumes that
lose the last points of the log, shake the gradient and shift the KL, metrics that are logged rarely, are missing, or
have no value where their environment has no sample, epochs with a short last batch, and heavy tails.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.insight import History
from rolloupe.tokens import Floats
from tests.insight.given_curves import Curves

KEPT = 0.8
"""The share of the metrics that a run has."""


class Shape(NamedTuple):
    """What a run is like."""

    random: np.random.Generator
    steps: NDArray[np.int64]
    at: Floats
    """From 0 at the first step to 1 at the last."""
    groups: int
    size: int
    resumes: list[int]

    @property
    def length(self) -> int:
        return len(self.steps)

    @property
    def samples(self) -> int:
        return self.groups * self.size

    def between(self, low: float, high: float) -> float:
        return float(self.random.uniform(low, high))

    def noise(self, size: float) -> Floats:
        return size * self.random.standard_normal(self.length)

    def wander(self, size: float) -> Floats:
        """Noise that remembers where it was for some steps."""
        kept, steps = self.between(0.5, 0.98), self.noise(1.0)
        for at in range(1, self.length):
            steps[at] = kept * steps[at - 1] + (1 - kept**2) ** 0.5 * steps[at]
        return size * steps

    def after_resumes(self, jump: float, steps: float) -> Floats:
        """A factor that jumps at each resume, and is 1 again after some steps."""
        since = np.full(self.length, np.inf)
        for at in self.resumes:
            since[at:] = np.arange(self.length - at)
        return 1 + (jump - 1) * np.exp(-since / steps)


def quiet_run(seed: int) -> Curves:
    """Return the curves of a quiet run."""
    shape = _shape(np.random.default_rng(seed))
    found: dict[str, History] = {}
    for part in (_answers, _lengths, _tokens, _optimizer, _of_environments, _evaluations, _batches, _discards):
        found.update(part(shape))
    return Curves(**{name: one for name, one in found.items() if shape.random.random() < KEPT})


def _shape(random: np.random.Generator) -> Shape:
    count = int(np.exp(random.uniform(np.log(30), np.log(5000))).round())
    steps = int(random.choice([0, 1, 200])) + int(random.choice([1, 1, 1, 5, 10])) * np.arange(count)
    resumes = sorted(random.integers(1, count, random.integers(0, 4)).tolist())
    groups, size = int(random.choice([2, 4, 8, 16, 32, 64])), int(random.choice([8, 16]))
    return Shape(random, steps, np.linspace(0, 1, count), groups, size, resumes)


def _logged(shape: Shape, values: Floats, every: int = 1) -> History:
    """The points that reached the log: not those just before a resume, and perhaps not of each step."""
    is_lost = np.zeros(shape.length, bool)
    for at in shape.resumes:
        is_lost[max(0, at - int(shape.random.integers(0, 5))) : at] = True
    return History(shape.steps, values).at(~is_lost & (np.arange(shape.length) % every == 0))


def _answers(shape: Shape) -> Iterator[tuple[str, History]]:
    """Rewards and groups: each answer is right with the chance of its prompt."""
    begin, gain = shape.between(0.3, 0.5), shape.between(0, 0.2)
    chance = np.clip(begin + gain * (1 - np.exp(-3 * shape.at)) + shape.wander(0.03), 0.2, 0.8)
    each = 4 * np.broadcast_to(chance[:, None], (shape.length, shape.groups))
    right = shape.random.binomial(shape.size, shape.random.beta(each, 4 - each))
    best, worst = (right == shape.size).mean(axis=1), (right == 0).mean(axis=1)
    reward = right.mean(axis=1) / shape.size
    scale = shape.between(0.5, 2)
    yield "sample reward", History(shape.steps, scale * reward)
    yield "sample reward std", History(shape.steps, scale * np.sqrt(reward * (1 - reward)))
    yield "group all_best", History(shape.steps, best)
    yield "group all_worst", History(shape.steps, worst)
    yield "group without_spread", History(shape.steps, best + worst)
    counts = right.sum(axis=1)
    spread, length, ratio = shape.between(0.4, 0.9), shape.between(200, 4000), shape.between(0.8, 1.2)
    for name, of, usual in (("right", counts, length), ("wrong", shape.samples - counts, ratio * length)):
        yield f"outcome {name}", History(shape.steps, of.astype(float))
        mean = np.where(of > 0, _means(shape, usual, spread, np.maximum(of, 1)), np.nan)
        yield f"outcome length_{name}", History(shape.steps, mean).finite()


def _means(shape: Shape, usual: Floats | float, spread: float, counts: NDArray[np.int64] | int) -> Floats:
    """Means of so many numbers of a log-normal distribution."""
    relative = np.sqrt((np.exp(spread**2) - 1) / counts)
    deviation = np.sqrt(np.log1p(relative**2))
    values: Floats = usual * np.exp(deviation * shape.random.standard_normal(shape.length) - deviation**2 / 2)
    return values


def _lengths(shape: Shape) -> Iterator[tuple[str, History]]:
    """Lengths that grow, some repetition, and thoughts that were cut off."""
    growth = 1 + shape.between(-0.4, 0.7) * shape.at
    yield "sample response_tokens", History(shape.steps, _means(shape, 800 * growth, 0.8, shape.samples))
    level = shape.between(0.01, 0.15) * (1 + 0.5 * shape.between(0, 1) * shape.at)
    repeated = np.clip(level + shape.wander(0.1) * level + shape.noise(1 / shape.samples**0.5) * level, 0, 1)
    yield "sample derived.repeated_4grams", History(shape.steps, repeated)
    cut = shape.random.binomial(shape.samples, shape.between(0.002, 0.06), shape.length) / shape.samples
    yield "sample derived.unclosed_think", History(shape.steps, cut)


def _tokens(shape: Shape) -> Iterator[tuple[str, History]]:
    """Entropy that falls, KL that grows from nothing, ratios with a heavy tail."""
    entropy = shape.between(0.2, 2) * (1 - shape.between(0, 0.65) * (1 - np.exp(-4 * shape.at)))
    yield "token entropy", History(shape.steps, entropy * np.exp(shape.noise(0.05)))
    tail, step_noise = shape.between(2, 5), shape.between(0.05, 0.4)
    yield "token importance_ratio max", History(shape.steps, 1 + shape.between(0.2, 3) * _heavy(shape, tail))
    yield "token mismatch_kl", History(shape.steps, 0.001 * np.exp(shape.noise(step_noise)))
    yield "token kl_k3", History(shape.steps, _divergence(shape, step_noise))
    yield "sample derived.mean_kl", History(shape.steps, _divergence(shape, step_noise))


def _heavy(shape: Shape, tail: float) -> Floats:
    """The largest of many: a Pareto distribution, of which each greatest value may be several times the next."""
    values: Floats = (1 - shape.random.random(shape.length)) ** (-1 / tail)
    return values


def _divergence(shape: Shape, size: float) -> Floats:
    """KL: none while the critic alone learns, then it grows; another after a resume."""
    start = int(shape.random.choice([0, 1, shape.length // 6]))
    since = np.maximum(0, np.arange(shape.length) - start)
    grown = shape.between(0.001, 0.3) * (1 - np.exp(-since / shape.between(3, shape.length)))
    for at in shape.resumes:
        grown[at:] *= np.exp(shape.between(-0.4, 0.4))
    values: Floats = grown * np.exp(shape.noise(size))
    return values


def _optimizer(shape: Shape) -> Iterator[tuple[str, History]]:
    """What trainers log of an update."""
    section = str(shape.random.choice(["", "actor/", "train/", "optim/"]))
    every = int(shape.random.choice([1, 1, 1, 2]))
    shaken = shape.after_resumes(shape.between(1, 4), 3) * (1 + 3 * np.exp(-np.arange(shape.length) / 5))
    norm = shape.between(0.05, 5) * np.exp(shape.noise(shape.between(0.1, 0.6))) * shaken
    yield f"trainer {section}grad_norm", _logged(shape, norm, every)
    yield f"trainer {section}loss", _logged(shape, shape.noise(0.02), every)
    yield f"trainer {section}kl", _logged(shape, _divergence(shape, shape.between(0.05, 0.4)), every)
    signed = shape.between(1e-5, 1e-3) * shape.random.standard_t(3, shape.length)
    yield f"trainer {section}ppo_kl", _logged(shape, signed, every)
    yield f"trainer {section}entropy", _logged(shape, 0.5 * np.exp(shape.noise(0.1) - 0.8 * shape.at), every)


def _of_environments(shape: Shape) -> Iterator[tuple[str, History]]:
    """Means that are not a number at the steps without a sample of an environment; a metric that never is one."""
    for name in ("env/code/reward", "rewards/format_reward/mean", "env/code/turns"):
        has = shape.random.random(shape.length) < shape.between(0.5, 0.99)
        yield f"trainer {name}", _logged(shape, np.where(has, 0.5 + shape.noise(0.1), np.nan))
    yield "trainer never", _logged(shape, np.full(shape.length, np.nan))


def _evaluations(shape: Shape) -> Iterator[tuple[str, History]]:
    """Scores of a few problems or many, which rise, then wander."""
    for name in ("math", "code")[: int(shape.random.integers(0, 3))]:
        problems, scores = (int(shape.random.choice(some)) for some in ([30, 100, 500], [10, 16, 20, 40]))
        every = max(1, shape.length // scores)
        chance = np.clip(0.3 + shape.between(0, 0.3) * (1 - np.exp(-4 * shape.at)) + shape.wander(0.02), 0, 1)
        score = shape.random.binomial(problems, chance) / problems
        yield f"eval {name}", History(shape.steps, score).at(np.arange(shape.length) % every == 0)


def _batches(shape: Shape) -> Iterator[tuple[str, History]]:
    """Numbers of samples: the same, some lost to a filter, or less at the end of each epoch."""
    counts = np.full(shape.length, float(shape.samples))
    kind = shape.random.integers(0, 3)
    if kind == 1:
        kept = shape.random.binomial(shape.groups, shape.between(0.5, 1), shape.length)
        counts = float(shape.size) * np.maximum(1, kept)
    epoch = int(shape.random.integers(5, 60))
    if kind == 2 and shape.length > 3 * epoch:
        counts[epoch - 1 :: epoch] *= shape.between(0.1, 1)
    yield "samples ", History(shape.steps, counts)


def _discards(shape: Shape) -> Iterator[tuple[str, History]]:
    """Shares of discarded samples: whole groups that are stale now and then, and those without spread, which grow."""
    stale = shape.between(0, 0.3) * (shape.random.random(shape.length) < shape.between(0, 0.2))
    kind = shape.random.integers(0, 3)
    chance = (kind > 0) * np.clip(
        shape.between(0, 0.5) + shape.between(-0.1, 0.15) * shape.at + shape.wander(0.04), 0, 1
    )
    flat = shape.random.binomial(shape.groups, chance) / shape.groups
    late = shape.random.binomial(shape.groups, np.clip(stale, 0, 1 - flat)) / shape.groups
    yield "share discarded", History(shape.steps, np.minimum(flat + late, 1))
    yield "share discarded/zero_advantage", History(shape.steps, flat)
    yield "share discarded/stale", History(shape.steps, np.minimum(late, 1 - flat))
