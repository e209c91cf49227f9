"""slime: dumps of samples for debugging, a file of PyTorch for each step, and dumps of the trainer's data beside them.

miles and Relax write such dumps, too: the beginning of an archive, finished or not, shows which framework wrote it.

Sources: `slime/observability/rollout_data_utils.py` and `train_data_utils.py` of slime, as of August 2026, the older
`train_dump_utils.py`, and `Sample.to_dict` and the writers of dumps in slime, miles and Relax.
"""

import contextlib
import json
import os
import re
import struct
import time
from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from rolloupe import model, tokens
from rolloupe.formats.base import Format, changed
from rolloupe.formats.reading import files
from rolloupe.formats.reading.pickles.json_values import Repetitive, ValueBudget, as_json
from rolloupe.formats.reading.pickles.machine import beginning
from rolloupe.formats.reading.pickles.torch_files import ZIP, TorchFile, torch_file
from rolloupe.formats.reading.pickles.values import UnreadablePickle, Window
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.tables.parquet_files import why_no_torch
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.slime import samples
from rolloupe.formats.token_texts import own_tokenizer, series_of
from rolloupe.lru import Lru
from rolloupe.storage import is_file, is_remote, open_file, path_state

ROLLOUTS: Final = "rollout_data"
TRAIN_DATA: Final = "train_data"
ENDING: Final = (".pt",)

_NAME = re.compile(r"(?:.*?(?P<eval>(?<![A-Za-z])eval_))?(?:.*\D)?(?P<step>\d{1,15})\.pt", re.DOTALL)
_TRAIN = re.compile(r"(?P<step>\d{1,15})(?:_(?P<rank>\d{1,9}))?\.pt")

SETTLED_NS: Final = 2 * 10**9
"""A folder that changed less than this ago may change again under the same timestamp."""

KEPT_FILES: Final = 100_000

T = TypeVar("T", bound=Sized)
_kept: Lru[tuple[object, ...], Sized] = Lru(total=KEPT_FILES)

BEGINNINGS = (2**17, 2**22)
"""Bytes of a file to examine at first, and if the first number is too small."""

KEPT_LOOKS = 4096

SLIME: Final = "slime"
MILES: Final = "miles"
RELAX: Final = "relax"
TRAIN: Final = "train"
"""The trainer's own data about samples: numbers without texts."""

OF_SAMPLE: Final = frozenset(("tokens", "response", "response_length", "status"))
OF_MILES: Final = frozenset(("rollout_indexer_topk", "adapter", "reward_spec", "routing_key"))
OF_RELAX: Final = frozenset(("decoded_tokens",))
OF_TRAIN: Final = frozenset(("tokens", "response_lengths", "total_lengths"))

_HEADER = struct.Struct("<26x2H")


class DumpFile(NamedTuple):
    """A dump of the samples of a step; the step is None if the name holds no number."""

    location: model.Location
    step: int | None
    is_eval: bool


class TrainFile(NamedTuple):
    """The trainer's data about the samples of a step, of all ranks or of one."""

    step: int
    rank: int
    location: model.Location


def dump_of(location: model.Location) -> DumpFile:
    """Identify a dump by its name."""
    match = _NAME.fullmatch(os.path.basename(location.path))
    return DumpFile(location, int(match["step"]) if match else None, bool(match and match["eval"]))


def _while_same(listed: Callable[[str, str], T]) -> Callable[[str, str], T]:
    """Cache the listing of a folder until it changes: every file of a run needs it."""

    @wraps(listed)
    def list_folder(folder: str, links: str) -> T:
        try:
            state = path_state(folder)
        except OSError:
            return listed(folder, links)
        if is_remote(folder) or time.time_ns() - state.st_mtime_ns < SETTLED_NS:
            return listed(folder, links)
        key = (listed, folder, links, state.st_ino, state.st_mtime_ns)
        return cast("T", _kept.get_or_make(key, lambda: listed(folder, links), len))

    return list_folder


@_while_same
def dumps_in(folder: str, links: str) -> Sequence[DumpFile]:
    """List the dumps of a folder in the order of steps, evaluations after the train files."""
    dumps = [dump_of(entry.location) for entry in files.files(folder, links, ENDING)]
    return sorted(dumps, key=lambda dump: (dump.is_eval, -1 if dump.step is None else dump.step, dump.location))


@_while_same
def train_files_in(folder: str, links: str) -> Sequence[TrainFile]:
    """List the dumps of train data in a folder, in the order of steps and ranks."""
    matches = [(e.location, match) for e in files.files(folder, links, ENDING) if (match := _TRAIN.fullmatch(e.name))]
    return sorted(TrainFile(int(match["step"]), int(match["rank"] or 0), place) for place, match in matches)


def _dumps(run: model.RunInfo) -> Iterator[DumpFile]:
    for part in run.parts:
        if is_file(part.path):
            yield dump_of(model.Location(part.path, files.links_of(run)))
            continue
        is_alone = os.path.basename(part.path) == ROLLOUTS  # any other folder may hold other files of PyTorch
        dumps = dumps_in(part.path, files.links_of(run))
        yield from (dump for dump in dumps if is_alone or kind_of(dump.location) not in ("", TRAIN))


def train_files(run: model.RunInfo) -> Sequence[TrainFile]:
    """List the dumps of train data of a run, in the order of steps and ranks."""
    return () if is_file(run.root) else train_files_in(os.path.join(run.root, TRAIN_DATA), files.links_of(run))


def train_files_of(run: model.RunInfo, step: int | None) -> list[model.Location]:
    """List the dumps of train data of a step."""
    return [file.location for file in train_files(run) if file.step == step]


def state_of(location: model.Location) -> str:
    """Return a word that changes when the file is written; empty for a missing file."""
    try:
        return "-".join(map(str, files.stamp_of(location)))
    except OSError:
        return ""


@files.while_unchanged(KEPT_LOOKS, errors=(OSError, UnreadablePickle), otherwise="")
def kind_of(location: model.Location) -> str:
    """Return the framework that wrote a dump of samples; `TRAIN` for train data, empty for anything else."""
    first, more = BEGINNINGS
    kind = _kind(_first_values(location, first))
    return kind if kind or path_state(location.path).st_size <= first else _kind(_first_values(location, more))


def _first_values(location: model.Location, count: int) -> list[Any]:
    """Return the first values that a file describes. Raises OSError and `UnreadablePickle`."""
    with open_file(location) as file:
        data = file.read(count)
    if not data.startswith(ZIP) or len(data) < _HEADER.size:
        raise UnreadablePickle("no file of PyTorch")
    name_bytes, extra_bytes = _HEADER.unpack_from(data)
    if not data[_HEADER.size : _HEADER.size + name_bytes].endswith(b"data.pkl"):
        return _members(torch_file(location).root)
    values = beginning(Window.of(data[_HEADER.size + name_bytes + extra_bytes :]))
    return _members(values[0]) if len(values) == 1 else values


def _members(root: Any) -> list[Any]:
    """Return the keys and values of a dict, and the members of lists in it."""
    if not isinstance(root, dict):
        return []
    inner = [member for value in root.values() if isinstance(value, list) for member in value[:4]]
    return [*root, *root.values(), *inner]


def _kind(values: Collection[Any]) -> str:
    words = {value for value in values if isinstance(value, str)}
    if "rollout_id" not in words:
        return ""
    for keys in (value.keys() for value in values if isinstance(value, dict)):
        if keys >= OF_TRAIN:
            return TRAIN
        if keys >= OF_SAMPLE and "samples" in words:
            return RELAX if keys >= OF_RELAX else MILES if keys & OF_MILES or "metadata" in words else SLIME
    return TRAIN if "rollout_data" in words or "format_version" in words else ""


LOOKS = 3
"""How many of the newest dumps to examine: one may be unfinished."""

EVAL = "eval/default"
"""A dump holds the samples of all data sets of an evaluation, without their names."""

HIDDEN = "outside of the loss mask slime has dummies, 0 for tokens that were not sampled: no value is shown or averaged"

MAX_RAW_VALUES = 2**20
MOST_NAMED = 10


class Slime(Format):
    """Debug dumps of slime."""

    name = "slime"
    title = "slime"
    endings = ENDING
    kind: ClassVar[str] = SLIME
    """The kind of dumps that it reads, as returned by `kind_of`."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        links = link_root or str(path.resolve())
        if files.is_one_file(path):
            fits = path.suffix in ENDING and self._fits([dump_of(files.alone(path))], forced=forced)
            return [self._run_at(path, f"one dump of {self.title}", "", path.stem)] if fits else []
        try:
            listed = files.entries(str(path), links)
        except OSError:
            return []
        if not any(entry.name.endswith(ENDING) or (entry.is_folder and entry.name == ROLLOUTS) for entry in listed):
            return []  # true of nearly all folders
        name = files.telling_name(path, (ROLLOUTS, "dump_details", "debug"))
        inner = path / ROLLOUTS
        dumps = dumps_in(str(inner), links)
        if self._fits(dumps, forced=forced):
            reason = f"{files.counted(dumps)} of samples in {ROLLOUTS}/"
            if train := train_files_in(str(path / TRAIN_DATA), links):
                reason += f", {len(train)} of train data in {TRAIN_DATA}/"
            return [self._run_at(path, reason, links, name, (model.RunPart(str(inner)),))]
        dumps = dumps_in(str(path), links)
        if path.name != TRAIN_DATA and self._fits(dumps, forced=forced):
            return [self._run_at(path, f"{files.counted(dumps)} of PyTorch with samples", links, name)]
        return []

    def _fits(self, dumps: Sequence[DumpFile], *, forced: bool) -> bool:
        kinds = [kind_of(dump.location) for dump in dumps[-1 : -1 - LOOKS : -1]]
        return any(kind == self.kind or (forced and kind not in ("", TRAIN)) for kind in kinds)

    def run_around(self, path: Path) -> Path | None:
        """See `Format`: the folder around `rollout_data/`, which also holds the train data."""
        if path.name != ROLLOUTS or files.is_one_file(path):
            return None
        around = path.parent
        has_more = any(entry.name == TRAIN_DATA for entry in files.folders(str(around), str(around)))
        return around if has_more and self.detect(around) else None

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        sources = [
            files.source_at(run, dump.location, step=dump.step, split=EVAL if dump.is_eval else "train")
            for dump in _dumps(run)
        ]
        steps = {source.step: source.location for source in sources if source.split == "train"}
        for step, of_step in groupby(train_files(run), lambda train_file: train_file.step):
            *others, last = [train_file.location for train_file in of_step]
            of_dump = [state_of(steps[step])] if step in steps else []
            for location in (*others, last):  # the last file counts the samples without a row
                states = of_dump if location is not last else [*of_dump, *map(state_of, others)]
                sources.append(files.source_at(run, location, step=step, annotates=True, depends=" ".join(states)))
        return sources

    def losses(self, run: model.RunInfo) -> list[model.Problem]:
        """See `Format`: steps without train data, if a later step has some."""
        having = {train_file.step for train_file in train_files(run)}
        newest = max(having, default=0)
        numbered = (dump.step for dump in _dumps(run) if dump.step is not None and not dump.is_eval)
        steps = {step for step in numbered if step < newest} - having
        if not steps:
            return []
        named = ", ".join(map(str, sorted(steps)[:MOST_NAMED])) + (", ..." if len(steps) > MOST_NAMED else "")
        return [
            model.Problem(source=TRAIN_DATA, reason=f"{_have(len(steps), 'step')} samples and no train data: {named}")
        ]

    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        if start or stop <= start:
            return
        try:
            if source.annotates:
                yield from self._annotations(run, source, torch_file(source.location))
            else:
                yield from self.rows_in(run, source, samples.Dump.at(source.location))
        except (OSError, UnreadablePickle, Unusable) as error:
            reason = why_no_torch(source.location) or files.cause_of(error)
            yield model.Problem(
                source=source.name, reason=reason, start=0, transient=isinstance(error, UnreadablePickle)
            )

    def rows_in(self, run: model.RunInfo, source: model.Source, dump: samples.Dump) -> Iterator[model.Scanned]:
        for position in range(len(dump.samples)):
            try:
                yield self.row(run, source, dump, position)
            except Repetitive as error:
                yield model.Problem(source=source.name, reason=f"from sample {position} on: {error}")
                return
            except Exception as error:  # a defect must not cost the samples after it
                reason = str(error) if isinstance(error, Unusable | UnreadablePickle) else self.failure(error)
                yield model.Problem(source=source.name, reason=f"sample {position}: {reason}")

    def row(self, run: model.RunInfo, source: model.Source, dump: samples.Dump, position: int) -> model.SampleRow:
        step = dump.step if dump.step is not None else source.step
        row = samples.row_of(dump, position, source.split or "train", step or 0)
        if key := run.reading.reward_key:
            row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
        return row

    def _annotations(self, run: model.RunInfo, source: model.Source, file: TorchFile) -> Iterator[model.Scanned]:
        rows, budget = samples.rows_of(file.root), ValueBudget(file.size_bytes)
        dump = self.dump_of_step(run, source.step)
        if dump is None:
            yield model.Problem(source=source.name, reason="no dump of samples of its step can be read", transient=True)
            return
        tied, lost = samples.join_rows(rows, dump)
        step = dump.step if dump.step is not None else (source.step or 0)
        for number, position, row in tied:
            try:
                budget.spend(samples.VALUES_OF_ROW + row.weight)
            except Repetitive as error:
                yield model.Problem(source=source.name, reason=f"from row {number} on: {error}")
                return
            yield model.Annotation(
                uid=samples.uid_of(step, position),
                start=number,
                length=1,
                advantage=row.advantage(),
                metrics=row.metrics(position),
                series=tuple(row.names()),
            )
        for reason, count in lost.items():
            yield model.Problem(source=source.name, reason=f"{_have(count, 'row')} no sample: {reason}")
        if missing := _without_row(run, source, dump, tied):
            yield model.Problem(source=source.name, reason=f"{_have(missing, 'sample')} no row in the train data")

    def dump_of_step(self, run: model.RunInfo, step: int | None) -> samples.Dump | None:
        """Return the samples of a step of training; None if none can be read."""
        for dump in _dumps(run):
            if dump.step == step and not dump.is_eval:
                with contextlib.suppress(OSError, UnreadablePickle, Unusable):
                    return samples.Dump.at(dump.location)
        return None

    def load(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Sample:
        reason = "it has no such sample"
        try:
            dump = samples.Dump.at(source.location, is_for_one=True)
            if locator.part == samples.PART and 0 <= locator.start < len(dump.samples):
                sample = samples.sample_of(dump, self.row(run, source, dump, locator.start), locator)
                self.add_train_rows(run, source, dump, sample)
                return sample
        except (OSError, UnreadablePickle, Unusable) as error:
            reason = files.cause_of(error)
        raise changed(source, locator.start, reason)

    def add_train_rows(
        self, run: model.RunInfo, source: model.Source, dump: samples.Dump, sample: model.Sample
    ) -> None:
        """Add the trainer's data of its step to a sample, and hide masked values. Raises `UnreadablePickle`."""
        rows: list[samples.TrainRow] = []
        for location in train_files_of(run, source.step) if sample.row.uid else ():
            try:
                of_file = _rows_in(location, dump)
            except (OSError, UnreadablePickle, Unusable) as error:
                sample.notes.append(f"{os.path.basename(location.path)}: {files.cause_of(error)}")
                continue
            rows += [row for _, position, row in of_file if position == sample.row.ordinal]
        for row in rows:
            sample.row.metrics = sample.row.metrics | row.metrics(sample.row.ordinal)
            if (advantage := row.advantage()) is not None:
                sample.row.advantage = advantage
        own, total = {series.name for series in sample.series}, len(sample.token_ids)
        others = {name: values for name, values in samples.series_of_rows(rows) if name not in own}
        more, notes = series_of(others, total, samples.first_of(total, sample.row.response_tokens))
        sample.series += more
        sample.notes += notes
        lost = {name for row in rows for name in row.names()} - {series.name for series in sample.series}
        if lost and sample.row.response_tokens != 0:
            names = ", ".join(sorted(lost))
            sample.notes.append(f"pieces of the response that do not fit together are left out: {names}")
        tokens.hide_masked(sample.series)
        if any(series.stored is not None for series in sample.series):
            sample.notes.append(HIDDEN)

    def raw(self, source: model.Source, locator: model.Locator) -> bytes:
        """Return the sample, part of a pickle in the file, as JSON, with names for objects that JSON lacks."""
        try:
            record = samples.Dump.at(source.location).samples[locator.start]
            shown = as_json(record, most=MAX_RAW_VALUES)
        except (OSError, UnreadablePickle, Unusable, IndexError) as error:
            raise changed(source, locator.start, files.cause_of(error)) from None
        return json.dumps(shown, ensure_ascii=False).encode()

    def tokenizers(self, run: model.RunInfo) -> list[model.Location | str]:
        return own_tokenizer(run, "tokenizer")

    def places(self, run: model.RunInfo) -> list[tuple[str, str]]:  # noqa: ARG002
        """Return the run's folders beside the dumps, and their contents in words."""
        return [("tokenizer", "tokenizer"), ("processor", "processor of images")]

    def files(self, run: model.RunInfo) -> list[model.RunFile]:
        if is_file(run.root):
            return []
        return described_files(
            (entry.path, f"{folder}/{entry.name}", what)
            for folder, what in self.places(run)
            for entry in files.files(os.path.join(run.root, folder), files.links_of(run), ("",))
        )


def _rows_in(location: model.Location, dump: samples.Dump) -> list[samples.JoinedRow]:
    return samples.join_rows(samples.rows_of(torch_file(location).root), dump)[0]


def _without_row(run: model.RunInfo, source: model.Source, dump: samples.Dump, rows: list[samples.JoinedRow]) -> int:
    """Count the samples without a row from any rank; only the last file of a step counts them, others return 0."""
    *others, last = train_files_of(run, source.step)
    if last.path != source.path:
        return 0
    for location in others:
        try:
            rows = rows + _rows_in(location, dump)
        except (OSError, UnreadablePickle, Unusable):  # its own scan reports it; its rows may be the missing ones
            return 0
    return len(dump.samples) - len({position for _, position, _ in rows})


def _have(count: int, what: str) -> str:
    return f"1 {what} has" if count == 1 else f"{count:,} {what}s have"
