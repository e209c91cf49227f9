"""Samples that trainers log as texts of TensorBoard. Texts that are no samples, and numbers, are the run's curves."""

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from rolloupe.formats.base import changed
from rolloupe.formats.reading.files import alone, cause_of, entries, is_one_file, links_of
from rolloupe.formats.reading.trackers.tensorboard import EventText, TaggedValue, event_texts, is_event_file, texts_at
from rolloupe.formats.trackers.logged_samples import LoggedSample, Placed, TrackerSamples
from rolloupe.formats.trackers.sample_texts import FIRST_WORDS, samples_of_text
from rolloupe.model import Location, Locator, Problem, RunInfo, RunPart, Scanned, Source
from rolloupe.storage import open_file, path_state

LOOKED_BYTES = 4 * 2**20
"""How far each file is searched for a first sample."""

HEAD_BYTES = 4096
"""How far into its record a sample begins at most: its tag is before it."""

LOOKED_FILES = 16


class TensorBoard(TrackerSamples):
    """Samples in event files."""

    name = "tensorboard"
    title = "TensorBoard"
    splittable = True
    suffixes = ()
    recognises = (
        "Event files of TensorBoard, directly in a folder or one alone, the first 4 MiB of which have a text with "
        "samples, as OpenRLHF and verl write them, or with `Prompt:`, `Response:` (`Completion:`, `Output:`) and "
        "`Reward:` (`Score:`) at beginnings of lines, plain, bold or as headings. Without one they are curves."
    )
    layout = (
        "`events.out.tfevents.*`; all files of a folder are one run. "
        "[frameworks/trackers.md](frameworks/trackers.md) has the switches."
    )
    identity = (
        "step = that of the event; group = a hash of the prompt; index = verl's number of the sample, of OpenRLHF a "
        "hash of the text, of others the place. Split `train`, or `eval/NAME` by the tag (`val/generations`)."
    )
    reads = (
        ("`train/generated_samples` (OpenRLHF)", "the response, with its prompt; the reward"),
        ("`val/generations` (verl)", "turns; the score as reward"),
        ("texts with such labels", "turns; the reward"),
        ("scalars", "metrics"),
    )
    limits = (
        "The prompt of OpenRLHF's samples is part of their text. A text with `### Sample N` in an output of verl is "
        "read as two samples."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`."""
        links = link_root or str(path.resolve())
        listed = _event_files(path, links)
        if not any(_has_samples(one) for one in listed[:LOOKED_FILES]):
            return []
        count = "an event file" if len(listed) == 1 else f"{len(listed)} event files"
        return [
            RunInfo(
                name=path.name, root=str(path), format=self.name, reason=f"{count} of TensorBoard with samples",
                parts=(RunPart(str(path)),), link_root="" if is_one_file(path) else links,
            )
        ]  # fmt: skip

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        found = _event_files(Path(run.root), links_of(run))
        return [Source(path=one.path, name=os.path.basename(one.path), root=one.root) for one in found]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        try:
            for one in event_texts(source.location, start, stop):
                if one.damage:
                    yield Problem(source=source.name, reason=one.damage, start=one.start, stop=one.stop)
                for placed in _placed(source, one):
                    yield from self.placed_rows(run, source, placed)
        except OSError as error:
            yield Problem(source=source.name, reason=cause_of(error), start=start, transient=True)

    def placed_at(self, source: Source, locator: Locator) -> Placed:
        """See `TrackerSamples`."""
        stop = locator.start + locator.length
        try:
            texts = texts_at(source.location, locator.start, locator.length)
        except OSError as error:
            raise changed(source, locator.start, error.strerror or str(error)) from None
        for placed in _placed(source, EventText(locator.start, stop, texts)):
            if placed.part == locator.part:
                return placed
        raise changed(source, locator.start, "no event with samples is there")


def _event_files(path: Path, links: str) -> list[Location]:
    if is_one_file(path):
        return [alone(path)] if is_event_file(path.name) else []
    try:
        listed = entries(str(path), links)
    except OSError:
        return []
    return [one.location for one in listed if is_event_file(one.name) and not (one.is_folder or one.refused)]


def _has_samples(location: Location) -> bool:
    try:
        state = path_state(location.path)
        return _known_samples(location, state.st_ino, min(state.st_size, LOOKED_BYTES))
    except OSError:
        return False


@lru_cache(maxsize=1024)
def _known_samples(location: Location, _inode: int, size: int) -> bool:
    """Look at the beginning of a file, whose first bytes stay as they are."""
    if not _may_have_samples(location, size):
        return False
    found = event_texts(location, 0, size)
    return any(isinstance(sample, LoggedSample) for one in found for _, sample in _samples(one.texts))


def _may_have_samples(location: Location, size: int) -> bool:
    """Tell whether the bytes of a file have the first words of a sample: most files have numbers alone."""
    with open_file(location) as file:
        data = file.read(size + HEAD_BYTES)
    return any(word in data for word in FIRST_WORDS)


def _samples(texts: list[TaggedValue]) -> Iterator[tuple[TaggedValue, LoggedSample | str]]:
    for value in texts:
        for text in value.texts:
            yield from ((value, sample) for sample in samples_of_text(value.tag, value.step, text))


def _placed(source: Source, one: EventText) -> Iterator[Placed]:
    for n, (value, sample) in enumerate(_samples(one.texts)):
        name = f"{os.path.basename(source.path)}:{one.start}.{n}"
        about = {"tag": value.tag, "step": value.step, "wall_time": value.time_s, "texts": value.texts}
        yield Placed(one.start, one.stop - one.start, str(n), name, sample, about)
