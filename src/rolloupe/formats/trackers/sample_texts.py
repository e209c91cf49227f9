"""Texts in which trainers log samples: OpenRLHF one a text, verl all of a validation as Markdown.

Sources: OpenRLHF's `TensorboardLogger.log_train`, in which the line breaks around the sample are a backslash and an n,
and verl's `ValidationGenerationsLogger.log_generations_to_tensorboard`.
"""

import re
from collections.abc import Iterator

from rolloupe.formats.reading import fields
from rolloupe.formats.trackers.logged_samples import LoggedSample, split_named

FIRST_WORDS = (b"Sample:", b"**Generation Results - Step ")
"""One of them is at the beginning of each text with samples."""

_ONE = re.compile(r"Sample:(?:\\n|\n)(?P<text>.*?)(?:\\n|\n){2}Reward: *(?P<reward>[-+.\w()]+)\s*", re.DOTALL)
_MANY = re.compile(r"\*\*Generation Results - Step [-0-9]+\*\*\s")
_BEGIN = re.compile(r"^### Sample (?P<number>[0-9]+)\n\*\*Input:\*\* ", re.MULTILINE)
_PARTS = re.compile(
    r"(?P<prompt>.*?)\n\n\*\*Output:\*\* (?P<response>.*)\n\n\*\*Score:\*\* (?P<score>[^\n]*)\s*(?:---\s*)?", re.DOTALL
)


def samples_of_text(tag: str, step: int, text: str) -> Iterator[LoggedSample | str]:
    """Yield the samples in a text, or why a part of it cannot be read; nothing of another text."""
    if one := _ONE.fullmatch(text):
        record = {"response": one["text"], "reward": _number(one["reward"]), "step": step}
        yield LoggedSample(record, split_named(tag), fields.digest(one["text"]))
    elif _MANY.match(text):
        begins = [*_BEGIN.finditer(text)]
        for begin, end in zip(begins, [*(one.start() for one in begins[1:]), len(text)], strict=True):
            yield _of_part(begin["number"], text[begin.end() : end], step, split_named(tag))


def _of_part(number: str, text: str, step: int, split: str) -> LoggedSample | str:
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return f"sample {number} has no output or no score"
    record = {"prompt": parts["prompt"], "response": parts["response"], "reward": _number(parts["score"]), "step": step}
    return LoggedSample(record, split, number)


def _number(text: str) -> float | None:
    return fields.number(fields.number_in(text))
