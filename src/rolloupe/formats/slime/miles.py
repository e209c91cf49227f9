"""miles, a relative of slime: its dumps, and the conversations and metrics beside them.

Sources: `ray/rollout/debug_data.py`, `utils/train_dump_utils.py` and `dashboard/store.py` of miles, as of August 2026.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from rolloupe import model, text
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import files, jsonl, peek
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.pickles.values import simple
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.formats.reading.trainer_files import records_about
from rolloupe.formats.slime.format import EVAL, MILES, Slime, state_of
from rolloupe.formats.slime.samples import Dump, first_answer, first_of, uid_of
from rolloupe.formats.token_texts import add_texts, ids_of, note_of, series_of, shown, strings_of, turns_of
from rolloupe.storage import is_file

CONVERSATIONS = "trajectory"
DASHBOARD = "dashboard"
METRICS = "metrics.jsonl"
META = "meta.json"

LINES = ".jsonl"

_KEYS = {"sample_index", "group_index", "status", "reward", "prompt", "messages"}

FOLDER: Final = "dashboard_columns"
SUFFIX: Final = ".parquet"
MISSING: Final = "the dump of its step is missing: its columns hold tokens, and neither texts nor a reward"
SERIES: Final = {"loss_mask": "loss_mask", "rollout_log_probs": "logprobs"}

_NAME = re.compile(r"rollout_(?P<eval>eval_)?(?P<step>\d{1,15})\.parquet")


class Miles(Slime):
    """Debug dumps of miles."""

    name = "miles"
    title = "miles"
    kind = MILES

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        dumps = super().detect(path, forced=forced, link_root=link_root)
        return dumps or CONVERSATIONS_ALONE.detect(path, link_root=link_root)

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """The rows of a dump depend on the conversations of its step."""
        if runs := CONVERSATIONS_ALONE.detect(Path(run.root), link_root=run.link_root):
            return CONVERSATIONS_ALONE.sources(runs[0])
        sources = []
        for source in super().sources(run):
            location = None if source.annotates else _conversations(run, source)
            sources.append(source if location is None else replace(source, depends=state_of(location)))
        return sources + _columns_without_dumps(run, {(source.step, source.split) for source in sources})

    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        if source.path.endswith(SUFFIX):
            return COLUMNS.scan(run, source, 0, 2**62) if start == 0 < stop else iter(())
        scan = CONVERSATIONS_ALONE.scan if _is_of_lines(source) else super().scan
        return scan(run, source, start, stop)

    def dump_of_step(self, run: model.RunInfo, step: int | None) -> Dump | None:
        """See `Slime`: without a dump, the columns list the samples."""
        dump = super().dump_of_step(run, step)
        columns = [] if dump is not None else _columns_without_dumps(run, {(None, "")})
        source = next((source for source in columns if (source.step, source.split) == (step, "train")), None)
        return dump if source is None else dump_of_columns(run, source)

    def rows_in(self, run: model.RunInfo, source: model.Source, dump: Dump) -> Iterator[model.Scanned]:
        """See `Slime`; also reports how many conversations belong to no sample."""
        messages, lost = _all_messages(run, source, dump)
        for row in super().rows_in(run, source, dump):
            if isinstance(row, model.SampleRow) and (own := messages.get(row.start)) is not None:
                _add_messages(row, own, dump.json(dump.samples[row.start].get("prompt")))
            yield row
        for reason, count in lost.items():
            which = "1 conversation belongs" if count == 1 else f"{count:,} conversations belong"
            yield model.Problem(source=source.name, reason=f"{which} to no sample, in {CONVERSATIONS}/: {reason}")

    def load(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Sample:
        if _is_of_lines(source):
            return CONVERSATIONS_ALONE.load(run, source, locator)
        if not source.path.endswith(SUFFIX):
            sample = super().load(run, source, locator)
        else:
            sample = COLUMNS.load(run, source, locator)
            self.add_train_rows(run, source, dump_of_columns(run, source), sample)
        location = _conversations(run, source)
        if location is None or "-" in sample.row.index:
            return sample
        records, notes = records_about(location, "sample_index", sample.row.index)
        sample.notes += notes
        conversations = [own for record in records if (own := _messages_of(record)) is not None]
        if len(conversations) == 1:
            (messages,) = conversations
            prompt = sample.prompt_messages if sample.prompt_messages is not None else sample.prompt_text
            first = first_answer(messages, prompt)
            sample.turns = parsers.prompt_turns(messages[:first]) + parsers.response_turns(messages[first:])
            _add_messages(sample.row, messages, prompt)
            sample.response_messages = sample.row.messages
        elif conversations:
            sample.notes.append(f"{len(conversations)} conversations have its sample_index: none is shown")
        return sample

    def raw(self, source: model.Source, locator: model.Locator) -> bytes:
        read = CONVERSATIONS_ALONE.raw if _is_of_lines(source) else super().raw
        return (COLUMNS.raw if source.path.endswith(SUFFIX) else read)(source, locator)

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        rows = []
        for record in chain.from_iterable(map(trainer.records, _metrics_files(run))):
            step = record.get("step")
            place = {"step": step} if step is not None else {"step": None, "time": record.get("ts")}
            rows.append({**parsers.as_dict(record.get("metrics")), **place})
        return trainer.merged_metrics(rows)

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        return [files.source_at(run, place) for place in _metrics_files(run)]

    def config(self, run: model.RunInfo) -> dict[str, Any]:
        meta = trainer.read_json(files.file_of(os.path.join(run.root, DASHBOARD), META, files.links_of(run)))
        return parsers.as_dict(parsers.as_dict(meta).get("args"))

    def places(self, run: model.RunInfo) -> list[tuple[str, str]]:
        own = [(CONVERSATIONS, "conversations"), (FOLDER, "columns of tokens"), (DASHBOARD, "metrics")]
        known = {"cache": "the cache of miles' own viewer", "metrics": "metrics"}
        below = files.folders(os.path.join(run.root, DASHBOARD), files.links_of(run))
        own += [(f"{DASHBOARD}/{entry.name}", known.get(entry.name, "what machines did")) for entry in below]
        return super().places(run) + own


def _is_of_lines(source: model.Source) -> bool:
    return files.plain_name(source.path).endswith(LINES)


def _columns_without_dumps(run: model.RunInfo, dumped: Collection[tuple[int | None, str | None]]) -> list[model.Source]:
    """Return the columns whose samples no dump holds, as sources, in the order of steps."""
    listed = [] if is_file(run.root) else files.files(os.path.join(run.root, FOLDER), files.links_of(run), (SUFFIX,))
    matches = [(entry.location, match) for entry in listed if (match := _NAME.fullmatch(entry.name))]
    columns = [(EVAL if match["eval"] else "train", int(match["step"]), location) for location, match in matches]
    return [
        files.source_at(run, location, step=step, split=split)
        for split, step, location in sorted(columns, key=lambda column: (column[0] == EVAL, column[1]))
        if (step, split) not in dumped
    ]


def _conversations(run: model.RunInfo, source: model.Source) -> model.Location | None:
    """Return the file with the conversations of a dump's samples; None without one."""
    if is_file(run.root) or source.step is None:
        return None
    name = f"{'' if source.split == 'train' else 'eval_'}{source.step}.jsonl"
    return files.file_of(os.path.join(run.root, CONVERSATIONS), name, files.links_of(run))


def _messages_of(record: Record) -> list[Any] | None:
    messages = parsers.messages(record.get("messages"))
    return messages if parsers.is_messages(messages) else None


def _all_messages(run: model.RunInfo, source: model.Source, dump: Dump) -> tuple[dict[int, list[Any]], Counter[str]]:
    """Return the conversations by the position of their sample; count conversations without a sample, by the reason."""
    by_index: dict[str, list[list[Any]]] = {}
    lost: Counter[str] = Counter()
    for record in trainer.records(_conversations(run, source)):
        index, messages = parsers.name(record.get("sample_index")), _messages_of(record)
        if index is None or messages is None:
            lost["no sample_index" if index is None else "no messages"] += 1
        else:
            by_index.setdefault(index, []).append(messages)
    by_position = {}
    for position in range(len(dump.samples) if by_index else 0):
        _, index = dump.name(position)
        own = by_index.get(index, []) if isinstance(dump.samples[position], dict) else []
        if len(own) == 1 and parsers.name(simple(dump.samples[position].get("index"))) == index:
            by_position[position] = own[0]
            del by_index[index]
    for own in by_index.values():
        shared = "a sample_index that several of them share"
        lost[shared if len(own) > 1 else "a sample_index that no sample has, or several"] += len(own)
    return by_position, lost


def _add_messages(row: model.SampleRow, messages: list[Any], prompt: Any) -> None:
    """Give a row the messages that follow the prompt in its conversation, and the number of its turns."""
    row.messages = messages[first_answer(messages, prompt) :]
    row.turns = text.answers_in(row.messages) or 1


def _metrics_files(run: model.RunInfo) -> list[model.Location]:
    if is_file(run.root):
        return []
    links, folder = files.links_of(run), os.path.join(run.root, DASHBOARD)
    by_hour = [entry.location for entry in files.files(os.path.join(folder, "metrics"), links)]
    return [*filter(None, [files.file_of(folder, METRICS, links)]), *by_hour]


class Conversations(OwnNames, jsonl.JsonlFormat):
    """Lines of `trajectory/`, as samples."""

    name = "miles"
    title = "miles"
    names: ClassVar[dict[str, str]] = {
        "messages": "messages", "score": "reward", "group": "group_index", "status_key": "status",
    }  # fmt: skip

    def fits(self, record: Record) -> bool:
        return record.keys() >= _KEYS and "response" not in record  # lines of Relax have a response

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:  # noqa: ARG002
        links = "" if files.is_one_file(path) else link_root or str(path.resolve())
        listed = files.files_at(path, links, (LINES,))
        records = peek.first_records(listed)
        if not records or not all(map(self.fits, records)):
            return []
        reason = f"{files.file_count(listed)} of conversations of miles, without its dumps"
        return [self._run_at(path, reason, links, files.stem(path.name) if files.is_one_file(path) else "")]

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        one_file = [model.Location(run.root, files.links_of(run))] if is_file(run.root) else []
        sources = []
        for place in one_file or [entry.location for entry in files.files(run.root, files.links_of(run))]:
            name = os.path.basename(place.path)
            split = EVAL if name.startswith("eval_") else "train"
            sources.append(files.source_at(run, place, split=split, step=parsers.step_in(files.stem(name))))
        return sources


CONVERSATIONS_ALONE = Conversations()


class MilesColumns(ParquetFormat):
    """Rows of columns as samples, for the format of miles."""

    name = "miles"
    title = "miles"
    series_keys = frozenset(("tokens", *SERIES))

    def may_cut(self, key: str) -> bool:
        return key in self.series_keys

    def row(self, source: model.Source, record: Record, start: int, length: int) -> model.SampleRow:
        """Without a tokenizer the texts are the ids."""
        ids = ids_of(record.get("tokens"))
        if not ids:
            raise Unusable("a row without tokens is not a sample")
        response = min(parsers.count(record.get("response_length")) or 0, len(ids))
        first, step = len(ids) - response, source.step or 0
        split = source.split or "train"
        prompt = shown(ids[:first])
        return model.SampleRow(
            split=split,
            step=step,
            group=parsers.digest(prompt),
            index=parsers.name(record.get("sample_index")) or str(start),
            ordinal=start,
            start=start,
            length=length,
            prompt_tokens=first,
            response_tokens=response,
            total_tokens=len(ids),
            uid=uid_of(step, start) if split == "train" else "",
            has_series=True,
            prompt=prompt,
            response=shown(ids[first:]),
        )

    def rows_of(
        self, run: model.RunInfo, source: model.Source, record: Record, start: int, length: int
    ) -> list[model.Scanned]:
        rows = super().rows_of(run, source, record, start, length)
        if run.tokenizer:
            add_texts(run, rows, ids_of(record.get("tokens")))
        return rows

    def references(self, record: Record) -> References:  # noqa: ARG002
        return References("", [])

    def sample(self, record: Record, row: model.SampleRow, locator: model.Locator) -> model.Sample:
        ids = ids_of(record.get("tokens"))
        arrays = {name: record.get(key) for key, name in SERIES.items()}
        series, notes = series_of(arrays, len(ids), first_of(len(ids), row.response_tokens))
        turns = [
            model.Turn(role="user", origin="prompt", parts=[model.Part(kind="text", text=row.prompt)]),
            model.Turn(role="assistant", origin="response", parts=[model.Part(kind="text", text=row.response)]),
        ]
        return parsers.sample_with(row, locator, turns, token_ids=ids, series=series, notes=[MISSING, *notes])

    def annotate(self, run: model.RunInfo, record: Record, sample: model.Sample) -> None:
        ids = ids_of(record.get("tokens"))
        strings = strings_of(run, ids) if run.tokenizer else None
        if strings is not None:
            sample.turns = turns_of(run, ids, strings, sample.row.prompt_tokens or 0) or sample.turns
        sample.notes.append(note_of(run, ids, strings))


COLUMNS: Final = MilesColumns()


def dump_of_columns(run: model.RunInfo, source: model.Source) -> Dump:
    """Return the indices and lengths of the samples in columns, by which the trainer's rows are joined to them."""
    without_texts = replace(run, tokenizer=None)
    records: dict[int, Record] = {
        row.ordinal: {"index": row.index, "response_length": row.response_tokens}
        for row in COLUMNS.scan(without_texts, source, 0, 2**62)
        if isinstance(row, model.SampleRow)
    }
    return Dump({"samples": [records.get(position) for position in range(max(records, default=-1) + 1)]})
