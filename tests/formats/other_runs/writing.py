"""Runs as their frameworks write them, of other names, versions and keys than the examples: each says what it holds.

They follow what the frameworks' own code does, whatever Rolloupe's readers look for. `PROMPTS` prompts have `EACH`
samples each, whose rewards are those of `REWARDS` in turn.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PROMPTS, EACH = 3, 4
REWARDS = (1.0, 0.0, 0.5, 0.5)
MEAN = 0.5
ANSWERS = ["The answer is 4.", "five", "<think>hm</think>4", ""]


class Holds(NamedTuple):
    """What `rolloupe ls --json` says of a run."""

    format: str
    groups: int
    samples: int
    reward_mean: float | None = MEAN


class Case(NamedTuple):
    """A run to write, and what it holds."""

    write: Callable[[Path], None]
    holds: Holds


CASES: dict[str, Case] = {}


def case(holds: Holds) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Register what writes a run."""

    def registered(write: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES[write.__name__] = Case(write, holds)
        return write

    return registered


def lines(path: Path, records: list[Any]) -> None:
    """Write JSON lines as Python does, NaN included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def document(path: Path, value: Any) -> None:
    """Write a JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def asked(number: int, step: int = 0) -> str:
    """A prompt."""
    return f"What is {number} + {step}?"


def places() -> list[tuple[int, int]]:
    """The numbers of prompts and of samples, as trainers repeat prompts."""
    return [(prompt, sample) for prompt in range(PROMPTS) for sample in range(EACH)]


def chat(*texts: str) -> list[dict[str, str]]:
    """Messages of a user and an assistant in turn."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def answer(sample: int) -> dict[str, str]:
    """The message of an assistant."""
    return {"role": "assistant", "content": ANSWERS[sample]}
