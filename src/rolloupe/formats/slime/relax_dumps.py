"""Relax's debug dumps: slime's layout of samples, with the string of each token.

They are a run of their own or, beside `rollout_result/`, add tokens to the samples of its lines: position and texts
tell which dumped sample is which.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rolloupe.formats.reading.files import links_of
from rolloupe.formats.reading.pickles import UnreadablePickle
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.slime.format import Slime
from rolloupe.formats.slime.layout import DumpFile, dump_of, dumps_in, state_of
from rolloupe.formats.slime.peek import RELAX, kind_of
from rolloupe.formats.slime.samples import PART, Dump, row_of, sample_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow
from rolloupe.storage import is_file
from rolloupe.tokens import hide_masked

SUFFIX: Final = ".pt"


class RelaxDumps(Slime):
    """Debug dumps of Relax, for the format of its lines."""

    name = "relax"
    title = "Relax"
    kind = RELAX


def dumps_beside(run: RunInfo, parts: Sequence[RunPart]) -> dict[tuple[int | None, bool], DumpFile]:
    """Return the dumps in some parts of a run, the first of each step and kind (whether it is of an evaluation)."""
    found: dict[tuple[int | None, bool], DumpFile] = {}
    for one in _listed(run, parts):
        if (one.step, one.is_eval) not in found and kind_of(one.location) == RELAX:
            found[one.step, one.is_eval] = one
    return found


def dump_beside(run: RunInfo, parts: Sequence[RunPart], step: int | None, *, is_eval: bool) -> DumpFile | None:
    """Return one of these dumps, without a look into those of other steps."""
    of_step = (one for one in _listed(run, parts) if (one.step, one.is_eval) == (step, is_eval))
    return next((one for one in of_step if kind_of(one.location) == RELAX), None)


def _listed(run: RunInfo, parts: Sequence[RunPart]) -> Iterator[DumpFile]:
    for part in parts:
        place = Location(part.path, links_of(run))
        yield from [dump_of(place)] if is_file(part.path) else dumps_in(part.path, links_of(run))


def state_of_dump(dump: DumpFile | None) -> str:
    """Return what changes when a dump is written; empty without one."""
    return "" if dump is None else state_of(dump.location)


def add_tokens(dump_file: DumpFile, sample: Sample) -> None:
    """Add to a sample of a line the tokens of the same sample in a dump; a note says why they are missing."""
    try:
        dump = Dump.at(dump_file.location, is_for_one=True)
        position = _position_of(dump, sample.row)
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


def unjoined(dump_file: DumpFile, rows: Iterable[SampleRow]) -> Iterator[str]:
    """Say how many samples of a dump have no line, and how many lines no sample in it.

    Raises OSError, `UnreadablePickle` and `Unusable`.
    """
    dump = Dump.at(dump_file.location)
    positions: dict[tuple[str, str] | None, list[int]] = {}
    for position in range(len(dump.samples)):
        positions.setdefault(_texts_at(dump, position), []).append(position)
    with_line, lost = set(), 0
    for row in rows:
        found = _chosen(positions.get((row.response, row.prompt), []), row)
        with_line.add(found)
        lost += found is None
    if missing := len(dump.samples) - len(with_line - {None}):
        yield f"{'1 sample has' if missing == 1 else f'{missing:,} samples have'} no line with its texts alone"
    if lost:
        yield f"{'1 line has' if lost == 1 else f'{lost:,} lines have'} no sample in the dump with its texts alone"


def _position_of(dump: Dump, row: SampleRow) -> int | None:
    """The position of a sample: its own if the texts there are its texts, else the only one with these texts."""
    texts = row.response, row.prompt
    if 0 <= row.ordinal < len(dump.samples) and _texts_at(dump, row.ordinal) == texts:
        return row.ordinal
    return _chosen([n for n in range(len(dump.samples)) if _texts_at(dump, n) == texts], row)


def _chosen(positions: Sequence[int], row: SampleRow) -> int | None:
    if row.ordinal in positions:
        return row.ordinal
    return positions[0] if len(positions) == 1 else None


def _texts_at(dump: Dump, position: int) -> tuple[str, str] | None:
    try:
        row = row_of(dump, position, "", 0)
    except (Unusable, UnreadablePickle):
        return None
    return row.response, row.prompt
