"""Any JSON lines whose rows hold text and a score under usual names: SkyRL, AReaL, verifiers, own scripts.

If a row lacks a step, group or split, it follows from the names of files and folders, and from equal prompts.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec.structs import replace

from rolloupe.formats.generic import hints, row_tokens, rows, shapes
from rolloupe.formats.generic.keys import Roles, candidates, doubted, has_answer, has_sample, has_text, roles_of
from rolloupe.formats.reading import documents, files, jsonl
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.field_map import Fields
from rolloupe.formats.reading.peek import MAX_FILES, Peek, first_looks, look, look_at
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable
from rolloupe.formats.unreadable import is_foreign
from rolloupe.lru import Lru
from rolloupe.model import Location, Problem, RunInfo, Source
from rolloupe.storage import is_below, is_file

MAX_STEP_FOLDERS = 100_000
KEPT_FILES, KEPT_CHARS = 100_000, 2**26
"""The most files whose beginnings are remembered, and the most characters in the paths of those with samples."""

_RANK = re.compile(r"(?:rank|worker|gpu|node|proc|process|host|shard|part|dp)[_\-]?[0-9]{1,5}", re.IGNORECASE)
_EPOCH = re.compile(r"(?:^|[^a-z])epoch[_\-.=]?(?P<epoch>[0-9]{1,9})", re.IGNORECASE)
_KINDS = {".parquet": "Parquet", ".json": "JSON", ".csv": "CSV", ".tsv": "TSV"}
_EVALUATION = re.compile(r"(?i:(?:evals?|evaluation|val|valid|validation|(?:held|hold)[_-]?out)(?:[_-].*)?|test)")
_PART = re.compile(rf"{_EVALUATION.pattern}|(?i:{'|'.join(files.NEUTRAL_WORDS | files.TRAIN_WORDS)}|[_-])+")
"""Folders of evaluations, and those whose names also say no more than that they hold a training."""
_digits = re.compile(r"[0-9]+")
_NO_NAME = re.compile(r"data|(?:global|steps?|iter|iteration|rollout)?[0-9]*")


class Generic(documents.ByEnding, rows.AnyRows, jsonl.JsonlFormat):
    """JSON lines with text and a score."""

    name = "generic"
    title = "JSON lines with text and a score"
    takes_field_map = True
    endings = (".parquet",)

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        if files.is_one_file(path):
            return self._runs_of(path, [files.alone(path)], "one file", "", forced=forced)
        root = link_root or str(path.resolve())
        steps = _step_folders(str(path), root)

        def fitting(entries: Iterable[files.FolderEntry]) -> list[Location]:
            return [entry.location for entry in entries if forced or _may_hold_samples(entry, (), forced=False)]

        lines = fitting(files.files(str(path), root))
        kind = "JSON lines" if lines else "JSON lines in folders named by a step"
        lines += [entry.location for folder in steps for entry in files.files(folder, root)]
        what = f"{files.counted(lines)} of {kind}"
        if found := self._runs_of(path, lines, what, root, forced=forced):
            return found
        tables = fitting(table for place in (str(path), *steps) for table in files.files(place, root, rows.TABLES))
        kind = " and ".join(sorted({_KINDS[rows.ending_of(place.path)] for place in tables}))
        what = files.counted(tables, f"{kind} file")
        return self._runs_of(path, tables, what, root, forced=forced)

    def _runs_of(self, path: Path, listed: list[Location], what: str, links: str, *, forced: bool) -> list[RunInfo]:
        fitting = next((roles_of(record) for record in _beginnings(listed)), None)
        if not listed or not (fitting or forced):
            return []
        reason = f"{what}, {fitting.described(_doubts(listed)) if fitting else 'read as --map or --format says'}"
        return [self._run_at(path, reason, links, self.run_name(path) if links else files.stem(path.name))]

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: evaluations are parts of the only run around them, or beside them under a name like `train`."""
        parts = {run.root for run in runs if _PART.fullmatch(os.path.basename(run.root))}
        places, around = {*map(os.path.dirname, parts)}, defaultdict[str, list[RunInfo]](list)
        for run in runs:
            around[run.root if run.root not in parts or run.root in places else os.path.dirname(run.root)].append(run)
        for place, found in around.items():
            evals = [len(found) > 1 and all(source.split != "train" for source in self.sources(run)) for run in found]
            if evals.count(False) == 1 < len(found):
                run = found.pop(evals.index(False))
                whole = tuple(part for own in (run, *found) for part in own.parts)
                names = ", ".join(os.path.basename(own.root) for own in found)
                around[place] = [replace(run, parts=whole, reason=f"{run.reason}; evaluations in {names}")]
        return [*chain.from_iterable(around.values())]

    def sources(self, run: RunInfo) -> list[Source]:
        links, found = files.links_of(run), []
        named, choice = run.reading.fields, bool(run.reading.format or run.reading.fields)
        for part in run.parts:
            root = links if is_below(part.path, links) else part.path
            if is_file(part.path):
                place = Location(part.path, root)
                found.append(_source(run, place, doubts=_doubts([place], named)))
                continue
            places = [part.path, *_step_folders(part.path, root)]
            listed = [entry for place in places for entry in files.files(place, root)]
            certain = [entry for entry in listed if _may_hold_samples(entry, named, forced=choice)]
            if all(look(entry.location).empty for entry in certain):
                tables = [entry for place in places for entry in files.files(place, root, rows.TABLES)]
                read = [entry for entry in tables if _may_hold_samples(entry, named, forced=False)]
                listed, certain = (tables if read else listed or tables), (read or certain)
            if certain or not choice:
                listed = _with_unscored(certain, listed, named, forced=choice)
            else:
                listed = [own for own in listed if any(map(row_tokens.holds_ids, _first_rows(own.location)))] or listed
            numbered = parsers.numbered_names(_bare(entry.name) for entry in listed)
            doubts = _doubts([entry.location for entry in listed], named)
            found += [_source(run, entry.location, numbered, doubts) for entry in listed]
        return found

    def losses(self, run: RunInfo) -> list[Problem]:
        """See `Format`: files without a text of a response, and steps of several epochs, whose samples are mixed."""
        sources = self.sources(run)
        by_step: dict[tuple[str | None, int | None], dict[str, str]] = {}
        for source in sources:
            if match := _EPOCH.search(source.name):
                by_step.setdefault((source.split, source.step), {})[match["epoch"]] = source.name
        seen = [(source.name, _first_rows(source.location)) for source in sources[:MAX_FILES]]
        unread = [(name, hints.why_no_response(records, run.reading.fields)) for name, records in seen]
        return [Problem(source=name, reason=reason) for name, reason in unread if reason] + [
            Problem(
                source=min(names.values()),
                reason=f"step {step} is in files of the epochs {', '.join(sorted(names, key=int))}: their samples are "
                "shown together. Next: open the files of one epoch, or number the steps of all epochs consecutively",
            )
            for (_, step), names in by_step.items()
            if len(names) > 1
        ]

    def reader_of(self, source: Source) -> RecordFormat:
        if rows.ending_of(source.path) == rows.PARQUET:
            return _PARQUET
        return _DOCUMENTS if rows.is_read_whole(source.location) else _LINES


_LINES, _PARQUET, _DOCUMENTS = rows.LineRows(), rows.ParquetRows(), rows.DocumentRows()


def _beginnings(listed: list[Location]) -> Iterator[Record]:
    """The samples among the first records of a few files of a long list."""
    whole = [place for place in listed if rows.is_read_whole(place)]
    for place in whole[:MAX_FILES]:
        for record in rows.first_rows(place):
            yield from _samples(record)
    if len(whole) < len(listed):
        for seen in first_looks([place for place in listed if place not in whole] if whole else listed).values():
            for record in seen.objects:
                yield from _samples(record, seen.whole)


def _samples(
    record: Record,
    is_whole: bool = True,
    *,
    named: Fields = (),
    forced: bool = False,
    fits: Callable[[Record, Roles], bool] = has_sample,
) -> list[Record]:
    """The first samples of a record; if the record is too long to be seen whole, the score may follow its text."""
    try:
        found = shapes.samples_in(record, named)[: shapes.LOOKED]  # the first may be a failed try
    except Unusable:
        return []
    fits = fits if is_whole else has_text
    return [sample for sample in found if fits(sample, roles_of(sample)) and (forced or not is_foreign(record))]


def _step_folders(folder: str, link_root: str) -> list[str]:
    """The folders of steps and of ranks: their files belong to one run."""
    below = ((entry.path, entry.name) for entry in files.folders(folder, link_root))
    parts = (path for path, name in below if _RANK.fullmatch(name) or parsers.step_of_folder(name) is not None)
    return [*islice(parts, MAX_STEP_FOLDERS)]


def _bare(name: str) -> str:
    """The name of a file without the suffixes of its kind."""
    name = files.plain_name(name)
    return next((name.removesuffix(ending) for ending in (*files.JSONL, *rows.TABLES) if name.endswith(ending)), name)


def _first_rows(place: Location) -> Sequence[Record]:
    return rows.first_rows(place) if rows.is_read_whole(place) else look(place).objects


def _doubts(listed: Sequence[Location], named: Fields = ()) -> list[str]:
    """The roles of short keys that the first rows of some files do not show."""
    seen = ((parsers.step_in(_bare(os.path.basename(at.path))), _first_rows(at)) for at in listed[:MAX_FILES])
    return doubted((step, [own for row in rows for own in _samples(row, named=named)]) for step, rows in seen)


def _source(run: RunInfo, location: Location, numbered: Collection[str] = (), doubts: Sequence[str] = ()) -> Source:
    path, root = location
    file = Path(path)
    folder = run.root if is_below(path, run.root) else os.path.dirname(run.root)
    name = file.name if path == run.root else file.relative_to(folder).as_posix()
    of_file = parsers.step_in(_bare(file.name), numbered)
    of_folder = parsers.step_of_folder(file.parent.name)
    is_of_folder = "/" in name and not _EPOCH.fullmatch(file.parent.name)
    first, second = (of_folder, of_file) if is_of_folder else (of_file, of_folder)
    step = second if first is None else first
    named = "" if step == parsers.step_in(_bare(file.name)) else str(step)  # by other names than that of the file
    depends = "\t".join((named, *doubts))
    return Source(path=path, name=name, root=root, split=_split(run, name), step=step, depends=depends)


def _split(run: RunInfo, name: str) -> str:
    """`eval/NAME` if the file, a folder between it and the run, or the run's own folder names an evaluation."""
    *above, file = files.stem(name).removesuffix(rows.ending_of(name)).split("/")
    words = [word for word in files.words_in(file) if not _NO_NAME.fullmatch(word)]
    if words and (words[0] in files.EVAL_WORDS or words == ["dev"]):
        return f"eval/{'_'.join(words[1:]) or words[0]}"
    if words[:2] in (["held", "out"], ["hold", "out"]):
        return f"eval/{'_'.join(words[2:] or words)}"
    top = Path(run.root).name
    evaluations = (part for part in above if _EVALUATION.fullmatch(part) or files.EVAL_WORDS & {*files.words_in(part)})
    folder = next(evaluations, top if _EVALUATION.fullmatch(top) else "")
    return f"eval/{'_'.join(words) or folder}" if folder else "train"


_samples_in: Lru[tuple[Location, Fields, bool], int] = Lru(KEPT_FILES, KEPT_CHARS)
"""Files with samples, and their inodes in the listings of their folders: a link has its own."""


def _may_hold_samples(entry: files.FolderEntry, named: Fields, *, forced: bool) -> bool:
    """Return whether rows of a file may be samples. True is remembered while the file stays the same."""
    key = entry.location, named, forced
    if _samples_in.get(key) == entry.inode:
        return True
    try:
        has_samples, may_hold_samples = _look(entry.location, named, forced)
    except OSError:
        return not rows.is_read_whole(entry.location)
    if has_samples:
        _samples_in.put(key, entry.inode, len(entry.path))
    return may_hold_samples


def _beginning(location: Location) -> Peek:
    return Peek(rows.rows_at_start(location)) if rows.is_read_whole(location) else look_at(location)


@files.while_unchanged(KEPT_FILES)
def _look(location: Location, named: Fields, forced: bool) -> tuple[bool, bool]:
    """Return whether a file begins with samples, and whether samples may follow later. Raises OSError."""
    records, _, is_whole = _beginning(location)
    has_samples = any(_samples(record, is_whole, named=named, forced=forced) for record in records)
    return has_samples, has_samples or not (records or rows.is_read_whole(location))


@files.while_unchanged(KEPT_FILES, errors=(OSError,), otherwise=())
def _answers_in(location: Location, named: Fields, forced: bool) -> tuple[tuple[str | None, bool], ...]:
    """For the first samples of a file, the key of the answer, and whether the sample has a score of any kind."""
    answers = []
    for record in _beginning(location).objects:
        for sample in _samples(record, named=named, forced=forced, fits=lambda *_: True):
            roles = roles_of(sample)
            answer = (roles.response or roles.messages) if has_answer(sample, roles) else None
            answers.append((answer, "score" in candidates(tuple(sample)).by_role))
    return tuple(answers)


def _with_unscored(
    certain: list[files.FolderEntry], listed: list[files.FolderEntry], named: Fields, *, forced: bool
) -> list[files.FolderEntry]:
    """Files with samples, and files beside them with more samples, such as failed tries.

    Rows of the latter have the same answer keys, and a score that is not a number; or the files' names differ from the
    others in numbers alone, and the rows have an answer or a score. If a person named keys or the format, the answers
    suffice.
    """
    known = {entry.path for entry in certain}
    if not certain or len(known) == len(listed):
        return certain
    answers = {key for entry in certain[:MAX_FILES] for key, _ in _answers_in(entry.location, named, forced) if key}
    names = {_digits.sub("0", entry.name) for entry in certain}

    def is_like(entry: files.FolderEntry) -> bool:
        is_named = _digits.sub("0", entry.name) in names
        return any(
            (is_scored and is_named) if key is None else (key in answers and (is_scored or is_named or forced))
            for key, is_scored in _answers_in(entry.location, named, forced)
        )

    return [entry for entry in listed if entry.path in known or is_like(entry)]
