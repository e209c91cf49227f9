"""Relax's debug dumps: slime's layout of samples, with the string of each token.

They are a run of their own or, beside `rollout_result/`, add tokens to the samples of its lines: position and texts
tell which dumped sample is which.
"""

from typing import Final

from rolloupe.formats.reading.files import links_of
from rolloupe.formats.reading.pickles import UnreadablePickle, torch_file
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.slime.format import Slime
from rolloupe.formats.slime.layout import DumpFile, dump_of, dumps_in, state_of
from rolloupe.formats.slime.peek import RELAX, kind_of
from rolloupe.formats.slime.samples import PART, Dump, row_of, sample_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample
from rolloupe.storage import is_file
from rolloupe.tokens import hide_masked

SUFFIX: Final = ".pt"


class RelaxDumps(Slime):
    """Debug dumps of Relax, for the format of its lines."""

    name = "relax"
    title = "Relax"
    kind = RELAX


def dump_beside(run: RunInfo, parts: tuple[RunPart, ...], step: int | None, *, is_eval: bool) -> DumpFile | None:
    """Return the dump of a step, among those in some parts of a run."""
    for part in parts:
        listed = (
            [dump_of(Location(part.path, links_of(run)))] if is_file(part.path) else dumps_in(part.path, links_of(run))
        )
        for one in listed:
            if (one.step, one.is_eval) == (step, is_eval) and kind_of(one.location) == RELAX:
                return one
    return None


def state_of_dump(dump: DumpFile | None) -> str:
    """Return what changes when a dump is written; empty without one."""
    return "" if dump is None else state_of(dump.location)


def add_tokens(dump_file: DumpFile, sample: Sample) -> None:
    """Add to a sample of a line the tokens of the same sample in a dump; a note says why they are missing."""
    try:
        dump = Dump(torch_file(dump_file.location).root)
        position = _position_of(dump, sample)
        if position is None:
            sample.notes.append("the debug dump of its step has no sample with these texts alone: no tokens are shown")
            return
        row = row_of(dump, position, sample.row.split, sample.row.step)
        dumped = sample_of(dump, row, Locator(source="", start=position, length=0, part=PART))
    except (OSError, UnreadablePickle, Unusable) as error:
        sample.notes.append(f"the debug dump of its step could not be read: {error}")
        return
    hide_masked(dumped.series)
    sample.token_ids, sample.token_strings, sample.series = dumped.token_ids, dumped.token_strings, dumped.series
    sample.extra = sample.extra | {key: value for key, value in dumped.extra.items() if key not in sample.extra}


def _position_of(dump: Dump, sample: Sample) -> int | None:
    """The position of a sample: its own if the texts there are its texts, else the only one with these texts."""
    own = sample.row.ordinal
    if 0 <= own < len(dump.samples) and _has_texts(dump, own, sample):
        return own
    found = [position for position in range(len(dump.samples)) if _has_texts(dump, position, sample)]
    return found[0] if len(found) == 1 else None


def _has_texts(dump: Dump, position: int, sample: Sample) -> bool:
    try:
        row = row_of(dump, position, "", 0)
    except (Unusable, UnreadablePickle):
        return False
    return (row.response, row.prompt) == (sample.row.response, sample.row.prompt)
