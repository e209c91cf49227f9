"""Samples that trainers log as texts of TensorBoard. Numbers and other texts belong to the run's curves."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from rolloupe.formats.base import changed
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import cause_of, files_at, is_one_file, links_of, source_at, while_unchanged
from rolloupe.formats.reading.trackers.tensorboard import EventText, TaggedValue, event_texts, is_event_file, texts_at
from rolloupe.formats.trackers.samples import LoggedSample, Placed, TrackerSamples, split_named
from rolloupe.model import Location, Locator, RunInfo, Source
from rolloupe.storage import open_file, path_state

LOOKED_BYTES = 4 * 2**20
"""The number of bytes of each file that are searched for a first sample."""
HEAD_BYTES = 4096
"""The most bytes of a record before a sample begins, such as its tag."""
LOOKED_FILES = 16
FIRST_WORDS = (
    b"Sample:", b"**Generation Results - Step ", *(
        form % word for word in (b"Prompt", b"Question") for form in (b"%s:", b"**%s**", b"# %s")
    ),
)  # fmt: skip
"""Every text with samples begins with one of these words."""
_ONE = re.compile(r"Sample:(?:\\n|\n)(?P<text>.*?)(?:\\n|\n){2}Reward: *(?P<reward>[-+.\w()]+)\s*", re.DOTALL)
_MANY = re.compile(r"\*\*Generation Results - Step [-0-9]+\*\*\s")
_BEGIN = re.compile(r"^### Sample (?P<number>[0-9]+)\n\*\*Input:\*\* ", re.MULTILINE)
_OUTPUT, _SCORE = "\n\n**Output:** ", "\n\n**Score:** "
_END = re.compile(r"(?P<score>[^\n]*)\s*(?:---\s*)?")
LAST_CHARS = 200
"""The number of last characters that are searched for the label of a reward."""


class TensorBoard(TrackerSamples):
    """Samples in event files."""

    name = "tensorboard"
    title = "TensorBoard"
    splittable = True
    suffixes = ()

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        links = link_root or str(path.resolve())
        listed = _event_files(path, links)
        if not any(_has_samples(place) for place in listed[:LOOKED_FILES]):
            return []
        count = "an event file" if len(listed) == 1 else f"{len(listed)} event files"
        return [self._run_at(path, f"{count} of TensorBoard with samples", "" if is_one_file(path) else links)]

    def sources(self, run: RunInfo) -> list[Source]:
        return [source_at(run, place) for place in _event_files(Path(run.root), links_of(run))]

    def placed_in(self, source: Source, start: int, stop: int) -> Iterator[Placed]:
        for event in event_texts(source.location, start, stop):
            if event.damage:
                yield Placed(event.start, event.stop - event.start, "", "", event.damage)
            yield from _placed(source, event)

    def placed_at(self, source: Source, locator: Locator) -> Placed:
        """See `TrackerSamples`: reads the one event."""
        try:
            texts = texts_at(source.location, locator.start, locator.length)
        except OSError as error:
            raise changed(source, locator.start, cause_of(error)) from None
        event = EventText(locator.start, locator.start + locator.length, texts)
        for placed in _placed(source, event):
            if placed.part == locator.part:
                return placed
        raise changed(source, locator.start, "no event with samples is there")


def _event_files(path: Path, links: str) -> list[Location]:
    return [place for place in files_at(path, links, ("",)) if is_event_file(os.path.basename(place.path))]


def _beginning_state(location: Location) -> tuple[int, int]:
    state = path_state(location.path)
    return state.st_ino, min(state.st_size, LOOKED_BYTES)


@while_unchanged(1024, _beginning_state, errors=(OSError,), otherwise=False)
def _has_samples(location: Location) -> bool:
    """Tell whether a file has samples at its beginning; its first bytes never change."""
    with open_file(location) as file:
        data = file.read(LOOKED_BYTES + HEAD_BYTES)
    if not any(word in data for word in FIRST_WORDS):  # most files have only numbers
        return False
    events = event_texts(location, 0, LOOKED_BYTES)
    return any(isinstance(sample, LoggedSample) for event in events for _, sample in _samples(event.texts))


def _samples(texts: list[TaggedValue]) -> Iterator[tuple[TaggedValue, LoggedSample | str]]:
    for value in texts:
        for text in value.texts:
            yield from ((value, sample) for sample in samples_of_text(value.tag, value.step, text))


def _placed(source: Source, event: EventText) -> Iterator[Placed]:
    for n, (value, sample) in enumerate(_samples(event.texts)):
        name = f"{os.path.basename(source.path)}:{event.start}.{n}"
        about = {"tag": value.tag, "step": value.step, "wall_time": value.time_s, "texts": value.texts}
        yield Placed(event.start, event.stop - event.start, str(n), name, sample, about)


def _label(words: str) -> str:
    return rf"[ \t]*(?:#+ *(?:{words}):?|\*\*(?:{words})(?::\*\*|\*\*:?)|(?:{words}):)"


_PROMPT = re.compile(rf"\n?{_label('Prompt|Question')}")
_RESPONSE = re.compile(rf"\n{_label('Response|Completion|Output|Answer')}")
_REWARD = re.compile(rf"\n{_label('Reward|Score')}\s*(?P<reward>[-+.\w()]+)$")


def samples_of_text(tag: str, step: int, text: str) -> Iterator[LoggedSample | str]:
    """Yield the samples in a text, or why a part of it cannot be read; nothing if the text holds none."""
    split, whole = split_named(tag), text.rstrip()
    if match := _ONE.fullmatch(text):
        record = {"response": match["text"], "reward": _number(match["reward"]), "step": step}
        yield LoggedSample(record, split, parsers.digest(match["text"]))
        return
    prompt = _PROMPT.match(whole)
    response = _RESPONSE.search(whole, prompt.end()) if prompt else None
    reward = _REWARD.search(whole, max(response.end(), len(whole) - LAST_CHARS)) if response else None
    if prompt and response and reward:
        texts = whole[prompt.end() : response.start()].strip(), whole[response.end() : reward.start()].strip()
        labelled = {"prompt": texts[0], "response": texts[1], "reward": _number(reward["reward"]), "step": step}
        yield LoggedSample(labelled, split)
    elif _MANY.match(text):
        begins = [*_BEGIN.finditer(text)]
        for begin, stop in zip(begins, [*(begin.start() for begin in begins[1:]), len(text)], strict=True):
            asked, output, rest = text[begin.end() : stop].partition(_OUTPUT)
            answer, score, last = rest.rpartition(_SCORE)
            if output and score and (end := _END.fullmatch(last)):
                record = {"prompt": asked, "response": answer, "reward": _number(end["score"]), "step": step}
                yield LoggedSample(record, split, begin["number"])
            else:
                yield f"sample {begin['number']} has no output or no score"


def _number(text: str) -> float | None:
    return parsers.number(parsers.number_in(text))
