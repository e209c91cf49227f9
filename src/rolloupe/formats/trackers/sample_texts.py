"""Texts in which trainers log samples: OpenRLHF one a text, verl all of a validation as Markdown, people their own.

Sources: OpenRLHF's `TensorboardLogger.log_train`, in which the line breaks around the sample are a backslash and an n,
and verl's `ValidationGenerationsLogger.log_generations_to_tensorboard`. In a text of anybody's own, lines begin with
the labels `Prompt:`, `Response:` and `Reward:` or the like, plain, bold or as headings.
"""

import re
from collections.abc import Iterator

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trackers.logged_samples import LoggedSample, split_named

FIRST_WORDS = (
    b"Sample:", b"**Generation Results - Step ", *(
        form % word for word in (b"Prompt", b"Question") for form in (b"%s:", b"**%s**", b"# %s")
    ),
)  # fmt: skip
"""One of them is at the beginning of each text with samples."""

_ONE = re.compile(r"Sample:(?:\\n|\n)(?P<text>.*?)(?:\\n|\n){2}Reward: *(?P<reward>[-+.\w()]+)\s*", re.DOTALL)
_MANY = re.compile(r"\*\*Generation Results - Step [-0-9]+\*\*\s")
_BEGIN = re.compile(r"^### Sample (?P<number>[0-9]+)\n\*\*Input:\*\* ", re.MULTILINE)
_OUTPUT, _SCORE = "\n\n**Output:** ", "\n\n**Score:** "
_END = re.compile(r"(?P<score>[^\n]*)\s*(?:---\s*)?")


def _label(words: str) -> str:
    return rf"[ \t]*(?:#+ *(?:{words}):?|\*\*(?:{words})(?::\*\*|\*\*:?)|(?:{words}):)"


_PROMPT = re.compile(rf"\n?{_label('Prompt|Question')}")
_RESPONSE = re.compile(rf"\n{_label('Response|Completion|Output|Answer')}")
_REWARD = re.compile(rf"\n{_label('Reward|Score')}\s*(?P<reward>[-+.\w()]+)$")
LAST_CHARS = 200
"""Within how many of the last characters a reward has its label."""


def samples_of_text(tag: str, step: int, text: str) -> Iterator[LoggedSample | str]:
    """Yield the samples in a text, or why a part of it cannot be read; nothing of another text."""
    if one := _ONE.fullmatch(text):
        record = {"response": one["text"], "reward": _number(one["reward"]), "step": step}
        yield LoggedSample(record, split_named(tag), fields.digest(one["text"]))
    elif record := _labelled(text):
        yield LoggedSample(record | {"step": step}, split_named(tag))
    elif _MANY.match(text):
        begins = [*_BEGIN.finditer(text)]
        for begin, end in zip(begins, [*(one.start() for one in begins[1:]), len(text)], strict=True):
            yield _of_part(begin["number"], text[begin.end() : end], step, split_named(tag))


def _labelled(text: str) -> Record:
    """The parts of a text with a label before each; nothing of another text."""
    whole = text.rstrip()
    prompt = _PROMPT.match(whole)
    response = _RESPONSE.search(whole, prompt.end()) if prompt else None
    reward = _REWARD.search(whole, max(response.end(), len(whole) - LAST_CHARS)) if response else None
    if not (prompt and response and reward):
        return {}
    texts = whole[prompt.end() : response.start()].strip(), whole[response.end() : reward.start()].strip()
    return {"prompt": texts[0], "response": texts[1], "reward": _number(reward["reward"])}


def _of_part(number: str, text: str, step: int, split: str) -> LoggedSample | str:
    prompt, output, rest = text.partition(_OUTPUT)
    response, score, last = rest.rpartition(_SCORE)
    end = _END.fullmatch(last)
    if not (output and score and end):
        return f"sample {number} has no output or no score"
    record = {"prompt": prompt, "response": response, "reward": _number(end["score"]), "step": step}
    return LoggedSample(record, split, number)


def _number(text: str) -> float | None:
    return fields.number(fields.number_in(text))
