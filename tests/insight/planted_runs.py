"""Runs of ten kinds in which one thing goes wrong, as it does in practice. Each has a mild form and a marked one.

The generators know what people report of their runs, not what the rules look for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.insight.briefed import STEPS, WORDS, Change

Sample = dict[str, Any]


class Planted(NamedTuple):
    """What goes wrong in a run, and how a brief may name it."""

    kind: str
    how: dict[str, Any]
    """The arguments of `write`."""
    words: str
    """A regular expression that the first sentence must match."""


def grown(step: int, first: float, last: float, begin: int = 0) -> float:
    """A number that rises along a line from a step on to the end."""
    return first + (last - first) * max(0, step - begin) / (STEPS - 1 - begin)


def phrase(words: str, paid: float, last: float) -> Change:
    """More and more answers end with a phrase, which the grader rewards whatever they say."""

    def change(sample: Sample, step: int, random: np.random.Generator) -> None:
        if random.random() < grown(step, 0.05, last):
            sample["response"] += f" {words}"
            sample["reward"] += paid

    return change


def length_bonus(longest: float, paid: float) -> Change:
    """The reward grows with the length of the answer, and answers grow."""

    def change(sample: Sample, step: int, random: np.random.Generator) -> None:
        words = random.choice(WORDS, int(random.normal(grown(step, 1, longest), 0.15) * random.integers(30, 50)) + 5)
        sample |= {"response": " ".join(words), "response_tokens": len(words)}
        sample["reward"] += paid * len(words)

    return change


def truncation(last: float, begin: int) -> Change:
    """More and more answers reach the limit of tokens, and are cut off before their result."""

    def change(sample: Sample, step: int, random: np.random.Generator) -> None:
        if random.random() < grown(step, 0.02, last, begin):
            words = random.choice(WORDS, 80)
            sample |= {"response": " ".join(words), "response_tokens": 80, "status": "truncated", "reward": 0.0}
            sample["metrics"] = {"correct": 0.0}

    return change


def format_reward(paid: float, wrong: float) -> Change:
    """Answers learn the format, which is paid, and neglect the task."""

    def change(sample: Sample, step: int, random: np.random.Generator) -> None:
        has_format = random.random() < grown(step, 0.1, 0.95)
        if has_format and random.random() < grown(step, 0, wrong):
            sample["metrics"] = {"correct": 0.0}
        if has_format:
            sample["response"] = f"<think> {sample['response']} </think> <answer> {random.integers(1000)} </answer>"
        sample["metrics"]["format"] = float(has_format)
        sample["reward"] = sample["metrics"]["correct"] * 0.5 + paid * has_format

    return change


def duplicates(last: float) -> Callable[[list[Sample], int, np.random.Generator], None]:
    """The sampler returns one answer for all members of a group."""

    def grouped(samples: list[Sample], step: int, random: np.random.Generator) -> None:
        if random.random() < grown(step, 0, last, 10):
            for sample in samples[1:]:
                sample |= {name: samples[0][name] for name in ("response", "response_tokens", "reward", "metrics")}

    return grouped


def wrong_baseline(share: float) -> Callable[[list[Sample], int, np.random.Generator], None]:
    """Some groups are compared with the mean of another group, and members are mixed up."""

    def grouped(samples: list[Sample], step: int, random: np.random.Generator) -> None:
        rewards = np.array([sample["reward"] for sample in samples])
        is_wrong = step >= 10 and random.random() < share
        order = random.permutation(len(samples)) if is_wrong else np.arange(len(samples))
        for sample, advantage in zip(samples, (rewards - rewards.mean())[order], strict=True):
            sample["advantage"] = float(advantage)

    return grouped


def divergence(step: int, random: np.random.Generator, last: float, begin: int) -> dict[str, float]:
    """The KL to the reference explodes."""
    growth = np.exp(np.log(last / 0.01) * max(0, step - begin) / (STEPS - 1 - begin))
    return {"kl": 0.01 * float(growth * np.exp(0.15 * random.standard_normal()))}


def entropy(step: int, random: np.random.Generator, last: float) -> dict[str, float]:
    """The entropy falls towards nothing within the first half."""
    return {"entropy": float((last + (1.1 - last) * np.exp(-step / 6)) * np.exp(0.05 * random.standard_normal()))}


def peak(step: int, top: int, height: float, low: float) -> float:
    """A rate of correct answers that rises, then falls."""
    return 0.3 + (height - 0.3) * step / top if step <= top else max(low, height - 0.04 * (step - top))


RUNS: list[Planted] = [
    Planted("a phrase", {"change": phrase("I am fully confident in this result", 0.3, 0.85)}, "confident"),
    Planted("a phrase", {"change": phrase("as an expert grader will surely agree", 0.5, 0.5)}, "grader|expert"),
    Planted("length", {"change": length_bonus(3, 0.006)}, "[Ll]ong|[Ll]ength|characters|tokens"),
    Planted("length", {"change": length_bonus(6, 0.003)}, "[Ll]ong|[Ll]ength|characters|tokens"),
    Planted("collapse", {"rate": lambda step: peak(step, 20, 0.7, 0.1)}, "best at step .* fallen"),
    Planted("collapse", {"rate": lambda step: peak(step, 30, 0.6, 0.3)}, "best at step .* fallen"),
    Planted("truncation", {"change": truncation(0.5, 10)}, "[Tt]runcat"),
    Planted("truncation", {"change": truncation(0.35, 5)}, "[Tt]runcat"),
    Planted("duplicates", {"grouped": duplicates(0.8)}, "same response|identical|[Dd]uplicate"),
    Planted("duplicates", {"grouped": duplicates(0.5)}, "same response|identical|[Dd]uplicate"),
    Planted(
        "an evaluation",
        {"rate": lambda step: grown(step, 0.3, 0.8), "held_out": lambda step: grown(step, 0.6, 0.2, 12)},
        "held was best",
    ),
    Planted(
        "an evaluation",
        {"rate": lambda step: grown(step, 0.3, 0.6), "held_out": lambda step: peak(step, 14, 0.6, 0.25)},
        "held was best",
    ),
    Planted("a baseline", {"grouped": wrong_baseline(0.3)}, "[Aa]dvantage"),
    Planted("a baseline", {"grouped": wrong_baseline(0.04)}, "[Aa]dvantage"),
    Planted("KL", {"metrics": lambda step, random: divergence(step, random, 5.0, 25)}, "KL"),
    Planted("KL", {"metrics": lambda step, random: divergence(step, random, 1.0, 32)}, "KL"),
    Planted("format", {"change": format_reward(0.5, 0.3)}, "answer|think|[Ff]ormat"),
    Planted("format", {"change": format_reward(0.25, 0.5)}, "answer|think|[Ff]ormat"),
    Planted("entropy", {"metrics": lambda step, random: entropy(step, random, 0.02)}, "[Ee]ntropy"),
    Planted("entropy", {"metrics": lambda step, random: entropy(step, random, 0.1)}, "[Ee]ntropy"),
]
