"""Relax: `rollout_result/{train,eval}/{rollout_id}.jsonl`, one sample per line, all versions of keys; debug dumps.

Source: `relax/utils/training/train_dump_utils.py` of Relax, as of July 2026 and later. Relax added keys without a
version number: every known key is read if present, and a line only has to be an object.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from rolloupe.formats.base import Format
from rolloupe.formats.generic.keys import Roles, candidates, keep_by_keys, roles_of
from rolloupe.formats.reading import record_blocks as blocks
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import ByEnding
from rolloupe.formats.reading.files import (
    alone,
    files,
    is_one_file,
    links_of,
    plain_name,
    source_at,
    stem,
    telling_name,
)
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import Peek, first_looks, look
from rolloupe.formats.reading.pickles.values import UnreadablePickle
from rolloupe.formats.reading.record_blocks import INTEGERS, NULLS, TEXTS, RecordBlock
from rolloupe.formats.reading.records import Record, References, Unusable, step_of
from rolloupe.formats.slime.format import RELAX, DumpFile, Slime, dump_of, dumps_in, kind_of, state_of
from rolloupe.formats.slime.samples import PART, Dump, row_of, sample_of
from rolloupe.model import (
    Location,
    Locator,
    Problem,
    RunInfo,
    RunPart,
    Sample,
    SampleColumns,
    SampleRow,
    Scanned,
    Source,
)
from rolloupe.storage import is_file
from rolloupe.tokens import hide_masked

NUMBERED = re.compile(r"[0-9]+\.jsonl")
RESULT = "rollout_result"
SPLITS = ("train", "eval")
NO_DATASET = "default"
"""Names the split of evaluation rows without `dataset`."""

_COUNTS = {
    "prompt_tokens": ("prompt_length", "prompt_token_count"),
    "response_tokens": ("response_length", "response_token_count"),
    "total_tokens": ("total_length", "total_token_count"),
}
_PLACED = {
    **dict.fromkeys(("sample_index", "group_index", "uid", "trace_id"), parsers.name),
    **dict.fromkeys(("prompt", "response", "label"), parsers.as_text),
    **dict.fromkeys(("agent_turns", *chain.from_iterable(_COUNTS.values())), parsers.count),
    "rollout_id": parsers.integer,
    "status": parsers.tag,
    "advantage": parsers.number,
    "discarded": parsers.reason,
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""


def _name(value: object) -> str:
    return parsers.name(value) or ""


def _turns(value: object) -> int:
    return parsers.count(value) or 1


_READERS: dict[str, tuple[str, Callable[[object], object]]] = {
    "uid": ("uid", _name),
    "trace_id": ("trace_id", _name),
    "env": ("dataset", _name),
    "turns": ("agent_turns", _turns),
    "discarded": ("discarded", lambda value: parsers.reason(value) or ""),
}
"""Fields of a row, each with its key and its reader."""
_LEAST = {"sample_index", "response", "reward"}
"""The required keys of a row in a file with the name and place that Relax uses."""

SUFFIX: Final = ".pt"

Place = tuple[int | None, bool]
"""A step, and whether it belongs to an evaluation: this pair connects lines with their debug dump."""


class RelaxDumps(Slime):
    """Debug dumps of Relax, for the format of its lines."""

    name = "relax"
    title = "Relax"
    kind = RELAX


class RelaxLines(JsonlFormat):
    """Lines of `rollout_result/`."""

    name = "relax"
    title = "Relax"

    def locations(self, folder: str, links: str) -> list[Location]:
        return _numbered(folder, links)

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        step = parsers.integer(stem(os.path.basename(location.path)))
        return source_at(run, location, split=part.split, step=step)

    def rows_of(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample has token series if a dump of its step lies beside the lines."""
        rows = super().rows_of(run, source, record, start, length)
        for row in rows if source.depends else ():
            if isinstance(row, SampleRow):
                row.has_series = True
        return rows

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:  # noqa: ARG002
        """See `JsonlFormat`: add the tokens of the debug dump of its step."""
        place = sample.row.step, sample.row.split.partition("/")[0] == "eval"
        dumps = (dump for dump in _listed(run, _dump_parts(run)) if (dump.step, dump.is_eval) == place)
        if dump := next((dump for dump in dumps if kind_of(dump.location) == RELAX), None):
            add_tokens(dump, sample)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        reward = parsers.reward(record.get("reward"))
        status = parsers.status(record.get("status"))
        index = parsers.name(record.get("sample_index"))
        dataset = parsers.name(record.get("dataset"))
        counts = _counts(record)
        usual = roles_of(record) if _has_more(tuple(record)) else None
        if usual and status[0] == "unknown":
            status = usual.status(record)
        return parsers.row_of(
            start,
            length,
            record.get("prompt"),
            record.get("response"),
            ordinal=parsers.integer(record.get("sample_index")),
            split=_split(source, dataset),
            step=step if (step := step_of(record.get("rollout_id"))) is not None else (source.step or 0),
            group=parsers.name(record.get("group_index")) or _named(usual, "group", record) or None,
            index=index if index is not None else str(start),
            reward=reward.value,
            advantage=parsers.number(record.get("advantage")),
            status=status,
            turns=_turns(record.get("agent_turns")),
            prompt_tokens=counts["prompt_tokens"],
            response_tokens=counts["response_tokens"],
            total_tokens=counts["total_tokens"],
            env=dataset or _named(usual, "env", record),
            uid=_name(record.get("uid")),
            trace_id=_name(record.get("trace_id")),
            discarded=parsers.reason(record.get("discarded")) or "",
            metrics=_metrics(record) | reward.metrics,
            tags=reward.tags,
        )

    def columns(self, run: RunInfo, source: Source, block: RecordBlock) -> SampleColumns | None:  # noqa: ARG002
        """See `JsonlFormat`: `row` for records whose texts are texts."""
        asked, rewards = blocks.prompts_in(block, "prompt"), blocks.rewards_in(block, "reward")
        is_usual = block.types("response") == TEXTS and block.types("rollout_id") <= INTEGERS | NULLS
        is_usual = is_usual and {"metrics", *rewards.metrics}.isdisjoint(block.keys) and "env" not in rewards.tags
        if asked is None or not is_usual or _has_more(block.keys) or blocks.have_texts(block, rewards.values):
            return None
        places = block.starts
        groups, indices = map(block.names, ("group_index", "sample_index"))
        ordinals, statuses = block.read("sample_index", parsers.integer), block.read("status", parsers.status)
        of_counts = {name: [key for key in keys if key in block.keys] for name, keys in _COUNTS.items()}
        counts = {name: blocks.first_of([*map(block.counts, keys)]) for name, keys in of_counts.items() if keys}
        if None in counts.get("prompt_tokens", (None,)):
            sizes = (counts.get(name, repeat(None, block.count)) for name in _COUNTS)
            counts["prompt_tokens"] = [*map(_prompt_tokens, *sizes)]
        others = {name: block.read(key, read) for name, (key, read) in _READERS.items() if key in block.keys}
        fields: dict[str, Sequence[Any]] = {
            "split": block.read("dataset", lambda dataset: _split(source, parsers.name(dataset))),
            "step": block.read("rollout_id", lambda step: (source.step or 0) if step is None else step),
            **blocks.fields_of(block, asked, "response", groups, statuses),
            "index": [str(at) if name is None else name for name, at in zip(indices, places, strict=True)],
            "reward": rewards.values,
            "advantage": block.numbers("advantage"),
            "ordinal": [at if number is None else number for number, at in zip(ordinals, places, strict=True)],
            "has_series": [bool(source.depends)] * block.count,
        }
        left = (key for key in block.keys if key not in _PLACED and key not in ("reward", "dataset"))
        own = ((key, block.numbers(key)) for key in left if not block.types(key) <= TEXTS | NULLS)
        metrics = blocks.in_order(chain(own, rewards.metrics.items()))
        if not all(map(blocks.are_exact, (fields["step"], *metrics.values()))):
            return None
        return SampleColumns(count=block.count, fields=fields | counts | others, metrics=metrics, tags=rewards.tags)

    def references(self, record: Record) -> References:
        usual = roles_of(record) if "label" not in record and _has_more(tuple(record)) else None
        return References(parsers.as_text(record.get(usual.label if usual and usual.label else "label")), [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = parsers.sample_of(row, locator, record.get("prompt"), record.get("response"))
        sample.label = self.references(record).label
        rest = {key: member for key, member in record.items() if not _is_shown(key, member, row)}
        sample.extra = {key: parsers.showable(member) for key, member in rest.items()}
        names = {key: parsers.name(record.get(key)) for key in ("rollout_id", "sample_index", "group_index")}
        sums = {key: parsers.count(record.get(key)) for key in ("total_length", "total_token_count")}
        sample.facts = {key: fact for key, fact in {**names, **sums}.items() if fact is not None}
        return sample


_DUMPS, _LINES = RelaxDumps(), RelaxLines()


class Relax(ByEnding, RelaxLines):
    """Rollout results of Relax."""

    sources_by_name = True
    endings = (SUFFIX,)

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        if path.name.endswith(SUFFIX):
            return _DUMPS.detect(path, forced=forced, link_root=link_root)
        if is_one_file(path):
            if not forced and not _fits([look(alone(path))], placed=False):
                return []
            part = RunPart(str(path), path.parent.name if path.parent.name in SPLITS else None)
            return [self._run_at(path, "one file, rows have rollout_id and sample_index", "", stem(path.name), (part,))]
        for folder in (path, path / RESULT):
            parts = [RunPart(str(folder / split), split) for split in SPLITS]
            if runs := self._of_parts(folder, parts, links, forced=forced):
                return runs
        split = path.name if path.name in SPLITS else None
        if runs := self._of_parts(path, [RunPart(str(path), split)], links, forced=forced):
            return runs
        parts = [RunPart(entry.path, split) for entry in files(str(path), links, (".jsonl",))] if forced else []
        if not parts:
            return _DUMPS.detect(path, forced=forced, link_root=links)
        return [self._run_at(path, f"{len(parts)} files, read as --format says", links, _name_of(path), tuple(parts))]

    def _of_parts(self, folder: Path, parts: list[RunPart], links: str, *, forced: bool) -> list[RunInfo]:
        """The run of a folder with numbered files in these parts, which may be the folder itself."""
        listed = [(part, _numbered(part.path, links)) for part in parts]
        looks = [seen for _, places in listed for seen in first_looks(places).values()]
        number, is_placed = sum(len(places) for _, places in listed), parts[0].path != str(folder)
        fits = forced or _fits(looks, placed=is_placed) or (is_placed and not looks and folder.name == RESULT)
        if not number or not fits:
            return []
        below = " and ".join(f"{part.split}/" for part, places in listed if places)
        named = f"{number} file{'s' if number > 1 else ''} named {{step}}.jsonl{f' below {below}' if is_placed else ''}"
        keys = "rollout_id and sample_index" if _fits(looks, placed=False) else "sample_index"
        seen = f"rows have {keys}" if looks else "all of them empty so far"
        return [self._run_at(folder, f"{named}, {seen}", links, _name_of(folder), tuple(parts))]

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: dumps become a part of the run with lines that lies beside their folder."""
        dumps = [run for run in runs if _is_of_dumps(run)]
        joined = []
        for run in [run for run in runs if run not in dumps]:
            # beside the lines, or below the same folder
            around = Path(run.root).parent if Path(run.root).name == RESULT else Path(run.root)
            beside = [d for d in dumps if d.link_root == run.link_root and around in Path(d.root).parents]
            dumps = [dump for dump in dumps if dump not in beside]
            joined.append(replace(run, parts=run.parts + tuple(part for dump in beside for part in dump.parts)))
        return joined + dumps

    def reader_of(self, source: Source) -> Format:
        return _DUMPS if source.path.endswith(SUFFIX) else _LINES

    def sources(self, run: RunInfo) -> list[Source]:
        """`Source.split` is `train`, `eval` (the row names the data set) or None."""
        if _is_of_dumps(run):
            return _DUMPS.sources(run)
        dumps = _dump_parts(run)
        sources = super().sources(replace(run, parts=tuple(part for part in run.parts if part not in dumps)))
        if not dumps:
            return sources
        beside: dict[Place, DumpFile] = {}
        for dump in _listed(run, dumps):
            if kind_of(dump.location) == RELAX:
                beside.setdefault((dump.step, dump.is_eval), dump)
        states = {_place_of(source): state_of(source.location) for source in sources}
        with_dumps = []
        for source in sources:
            dump_file = beside.get(_place_of(source))
            with_dumps.append(replace(source, depends=state_of(dump_file.location)) if dump_file else source)
        return with_dumps + [
            Source(
                path=dump.location.path, name="/".join(Path(dump.location.path).parts[-2:]), root=dump.location.root,
                step=dump.step, split="eval" if dump.is_eval else None, annotates=True, depends=states.get(place, ""),
            )
            for place, dump in beside.items()
        ]  # fmt: skip

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """Scan lines or dumps. A dump beside lines yields only the numbers of samples and lines that do not match."""
        if source.annotates:
            return self._unjoined(run, source) if start == 0 < stop else iter(())
        return self.reader_of(source).scan(run, source, start, stop)

    def scan_columns(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned | SampleColumns]:
        reader = self.reader_of(source)
        return (self.scan if source.annotates else reader.scan_columns)(run, source, start, stop)

    def _unjoined(self, run: RunInfo, source: Source) -> Iterator[Scanned]:
        dump = dump_of(source.location)
        place = (dump.step, dump.is_eval)
        lines = [source for source in self.sources(run) if not source.annotates and _place_of(source) == place]
        if not lines:
            yield Problem(source=source.name, reason="its samples have no lines: no file of lines is of its step")
            return
        rows = (row for line_source in lines for row in _LINES.scan(run, line_source, 0, 2**62))
        try:
            for reason in unjoined(dump, (row for row in rows if isinstance(row, SampleRow))):
                yield Problem(source=source.name, reason=reason)
        except (OSError, UnreadablePickle, Unusable) as error:
            reason = f"no tokens from it: {error}"
            yield Problem(source=source.name, reason=reason, transient=isinstance(error, UnreadablePickle))


def _dump_parts(run: RunInfo) -> tuple[RunPart, ...]:
    """Return the parts of a run with lines that are debug dumps: `joined` adds them after the others."""
    return tuple(
        part
        for number, part in enumerate(run.parts)
        if part.split is None
        and (part.path.endswith(SUFFIX) or (number > 0 and not plain_name(part.path).endswith(".jsonl")))
    )


def _is_of_dumps(run: RunInfo) -> bool:
    first, links = run.parts[0], links_of(run)
    if first.path.endswith(SUFFIX):
        return len(_dump_parts(run)) == len(run.parts)
    is_folder = first.split is None and len(run.parts) == 1 and not is_file(first.path)
    return is_folder and bool(files(first.path, links, (SUFFIX,))) and not _numbered(first.path, links)


def _name_of(folder: Path) -> str:
    return telling_name(folder, (RESULT, *SPLITS))


def _place_of(source: Source) -> Place:
    return source.step, source.split == "eval"


def _numbered(folder: str, link_root: str) -> list[Location]:
    """List the files named by a number, in the order of the numbers."""
    listed = [entry for entry in files(folder, link_root, (".jsonl",)) if NUMBERED.fullmatch(plain_name(entry.name))]
    digits = {entry.name: stem(entry.name).lstrip("0") for entry in listed}
    listed.sort(key=lambda entry: (len(digits[entry.name]), digits[entry.name]))
    return [entry.location for entry in listed]


def _fits(looks: list[Peek], *, placed: bool) -> bool:
    """Return whether one of some files holds rows of Relax; if names and places match, fewer keys suffice."""
    for record in (record for seen in looks for record in seen.objects):
        is_own = record.keys() >= {"rollout_id", "sample_index"}
        if ("prompt" in record or "response" in record) if is_own else (placed and record.keys() >= _LEAST):
            return True
    return False


def _split(source: Source, dataset: str | None) -> str:
    is_eval = source.split == "eval" or (source.split is None and dataset)
    return f"eval/{dataset or NO_DATASET}" if is_eval else "train"


def _counts(record: Record) -> dict[str, int | None]:
    counts = {name: parsers.first(record, keys, parsers.count) for name, keys in _COUNTS.items()}
    counts["prompt_tokens"] = _prompt_tokens(**counts)
    return counts


def _prompt_tokens(prompt_tokens: int | None, response_tokens: int | None, total_tokens: int | None) -> int | None:
    """The length of a prompt, which may follow from the other two."""
    follows = prompt_tokens is None and response_tokens is not None and total_tokens is not None
    return total_tokens - response_tokens if follows and total_tokens >= response_tokens else prompt_tokens


def _metrics(record: Record) -> dict[str, float]:
    inner = record.get("metrics")
    members = {**inner, **record} if isinstance(inner, dict) else record
    return {
        key: value
        for key, member in members.items()
        if key not in _PLACED and key not in ("reward", "dataset") and (value := parsers.number(member)) is not None
    }


@keep_by_keys
def _has_more(keys: tuple[str, ...]) -> bool:
    """Return whether a row has facts under usual names that Relax does not use."""
    named = candidates(keys).of("group", "label", "env", "status_key")
    return any(key not in _PLACED and key != "dataset" for key in named)


def _named(usual: Roles | None, role: str, record: Record) -> str:
    key = getattr(usual, role, None)
    return (parsers.name(record.get(key)) or "") if key else ""


def _is_shown(key: str, member: object, row: SampleRow) -> bool:
    """Whether the row or the sample shows a member of its record."""
    if key == "reward":
        return parsers.is_shown_reward(member)
    if key in _PLACED:
        return member is None or _PLACED[key](member) is not None
    return parsers.name(member) is not None if key == "dataset" else key in row.metrics


def _listed(run: RunInfo, parts: Sequence[RunPart]) -> Iterator[DumpFile]:
    for part in parts:
        place = Location(part.path, links_of(run))
        yield from [dump_of(place)] if is_file(part.path) else dumps_in(part.path, links_of(run))


def add_tokens(dump_file: DumpFile, sample: Sample) -> None:
    """Add to a sample of a line the tokens of the same sample in a dump; a note says why they are missing."""
    try:
        dump = Dump.at(dump_file.location, is_for_one=True)
        position, texts = sample.row.ordinal, (sample.row.response, sample.row.prompt)
        if not (0 <= position < len(dump.samples) and _texts_at(dump, position) == texts):
            equal = [number for number in range(len(dump.samples)) if _texts_at(dump, number) == texts]
            position = equal[0] if len(equal) == 1 else -1
        if position < 0:
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
    """Say how many samples of a dump have no line, and how many lines have no sample in it.

    Raises OSError, `UnreadablePickle` and `Unusable`.
    """
    dump = Dump.at(dump_file.location)
    positions: dict[tuple[str, str] | None, list[int]] = {}
    for position in range(len(dump.samples)):
        positions.setdefault(_texts_at(dump, position), []).append(position)
    with_line, lost = set(), 0
    for row in rows:
        equal = positions.get((row.response, row.prompt), [])
        if row.ordinal in equal:
            with_line.add(row.ordinal)
        elif len(equal) == 1:
            with_line.add(equal[0])
        else:
            lost += 1
    if missing := len(dump.samples) - len(with_line):
        yield f"{'1 sample has' if missing == 1 else f'{missing:,} samples have'} no line with its texts alone"
    if lost:
        yield f"{'1 line has' if lost == 1 else f'{lost:,} lines have'} no sample in the dump with its texts alone"


def _texts_at(dump: Dump, position: int) -> tuple[str, str] | None:
    try:
        row = row_of(dump, position, "", 0)
    except (Unusable, UnreadablePickle):
        return None
    return row.response, row.prompt
