"""prime-rl: its trainer's token exports (May to August 2026), one packed sequence per line, seven shapes of keys.

Source: `trainer/rl/token_export.py` of prime-rl at #2551, #2592, #2596, #2641, #2746, #3189 and main of August 2026.
`schema_version` stayed 1 throughout, so the keys identify the shape. Arrays describe the token at their index; outside
`loss_mask` they hold dummies and garbage, which Rolloupe never shows and never averages.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rolloupe import model, text, tokens
from rolloupe.formats.base import Annotations
from rolloupe.formats.reading import arrays, files, jsonl, line_reader, peek
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record, Unusable, step_in
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.formats.reading.value_parsers import as_dict
from rolloupe.formats.token_texts import add_texts, note_of, note_without_tokenizer, shown, strings_of, tokenizer_of
from rolloupe.formats.token_texts import turns_of as turns_of_tokens
from rolloupe.storage import is_below, is_file, path_state
from rolloupe.tokenizer import find_tokenizer
from rolloupe.tokens import SampleTokens

STABLE = "STABLE"
QUIET_S = 600.0
"""A step without `STABLE` that has not changed for this long will never be finished."""

_RANK = re.compile(r"rank_(?P<rank>\d{1,9})\.jsonl")
_STEP = re.compile(r"step_(?P<step>\d{1,15})")
ROWS = ", rows have micro_step, micro_sequence_idx and export_sequence_idx"
_TELLING = {"micro_step", "micro_sequence_idx", "export_sequence_idx"}

EXPORTS = "token_exports"
CONFIGS = ("trainer", "orchestrator", "rl")
MAX_CONFIG_BYTES = 2**20

OF_THE_FIRST = {
    "id": "token_ids", "position": "position_ids", "advantage": "advantages", "reward": "rewards",
    "inference_logprob": "inference_logprobs", "trainer_logprob": "trainer_logprobs",
    "inference_prob": "sampling_probability", "trainer_prob": "probability",
}  # fmt: skip
"""Keys of a token in the first shape, a list of objects, with their names in later shapes."""

SERIES = (
    "trainer_logprobs", "inference_logprobs", "advantages", "entropy", "importance_ratio", "log_importance_ratio",
    "mismatch_kl", "prob_delta", "is_masked", "is_masked_high", "is_masked_low", "rl_weights", "ce_weights",
    "ref_kl_weights", "rewards", "probability", "sampling_probability", "sample_kl_trainer_to_inference",
    "sample_kl_inference_to_trainer",
)  # fmt: skip
AT_SAMPLING = "inference_logprobs"
"""The logprobs of the sampling policy, which every other format calls `logprobs`."""

OF_TRAINER = (
    "trainer_logprobs", "entropy", "importance_ratio", "log_importance_ratio", "mismatch_kl", "prob_delta",
    "is_masked", "is_masked_high", "is_masked_low", "probability", "sample_kl_trainer_to_inference",
    "sample_kl_inference_to_trainer",
)  # fmt: skip
"""Values that the trainer computes: garbage for the first token of a sequence, whatever the mask."""

MAX_TURNS = 5_000
"""Maximum number of mask spans that become turns; the rest of a sequence is one turn."""

BY_MASK = "a turn for each span of the loss mask"
_MEANS = ("entropy", "importance_ratio", "log_importance_ratio", "mismatch_kl", "prob_delta", "trainer_logprobs")
_COUNTS = ("is_masked", "is_masked_high", "is_masked_low")
SUMMARIES: dict[str, tuple[str, Callable[[tokens.Floats], float | None]]] = {
    **{key: (key, tokens.nan_mean) for key in _MEANS},
    "abs_log_importance_ratio": ("log_importance_ratio", lambda gaps: tokens.nan_mean(np.abs(gaps))),
    "mismatch_kl_max": ("mismatch_kl", lambda kl: None if np.isnan(kl).all() else float(np.nanmax(kl))),
    **{key: (key, tokens.nan_sum) for key in _COUNTS},
}
"""Sample metrics, each with the column that it sums up, and how."""
NUMBERS = ("rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "schema_version")
ARRAYS = {"tokens", "token_ids", "position_ids", "loss_mask", *SERIES}
_READ: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(ARRAYS, tokens.length),
    **dict.fromkeys(("env_name", "training_mode", "run_id"), parsers.tag),
    **dict.fromkeys((*NUMBERS, "step", "export_step"), parsers.integer),
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""


class PrimeRL(jsonl.JsonlFormat):
    """Token exports of prime-rl."""

    name = "prime_rl"
    title = "prime-rl token exports"

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        links = link_root or str(path.resolve())
        if files.is_one_file(path):
            fits = forced or _fits([peek.look(files.alone(path))])
            return [self._run(path, path, f"one file{ROWS}", "")] if fits else []
        for folder in (path, path / EXPORTS):
            ranks = _rank_files(str(folder), links)
            looks = [*peek.first_looks([location for location, _ in ranks]).values()]
            named = folder.name == EXPORTS and (forced or not looks)
            if ranks and (named or _fits(looks)):
                steps = {step for _, step in ranks if step is not None}
                places = f" in {files.counted(steps, 'step')}" if steps else ""
                reason = f"{files.counted(ranks)} of ranks{places}{ROWS if looks else ', all of them empty so far'}"
                return [self._run(path, folder, reason, links)]
        is_forced = forced and files.files(str(path), links)
        return [self._run(path, path, "read as --format says", links)] if is_forced else []

    def _run(self, path: Path, folder: Path, what: str, links: str) -> model.RunInfo:
        root = path.parent if path.name == EXPORTS else path
        name = files.stem(path.name) if files.is_one_file(path) else root.name
        return self._run_at(path, what, links, name, (model.RunPart(str(folder)),))

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        listed: list[tuple[model.Location, int | None]] = []
        for part in run.parts:
            if is_file(part.path):
                listed.append((model.Location(part.path, files.links_of(run)), None))
            else:
                ranks = _rank_files(part.path, files.links_of(run))
                listed += ranks or [(entry.location, None) for entry in files.files(part.path, files.links_of(run))]
        return [files.source_at(run, place, split="train", step=step) for place, step in listed]

    series_keys = frozenset(ARRAYS - {"tokens", "token_ids"})
    decodes_ids = True

    def tokenizers(self, run: model.RunInfo) -> list[model.Location | str]:
        links = files.links_of(run)
        parts = run.root.split(os.sep)
        folder = os.sep.join(parts[: parts.index(EXPORTS)]) if EXPORTS in parts else run.root
        if not is_below(folder, links):
            return []
        own = [find_tokenizer(model.Location(place, links)) for place in (folder, os.path.join(folder, "tokenizer"))]
        names = dict.fromkeys(_names(os.path.join(folder, "configs"), links))
        return [*filter(None, own), *names]

    def rows_of(
        self, run: model.RunInfo, source: model.Source, record: Record, start: int, length: int
    ) -> list[model.Scanned]:
        rows = super().rows_of(run, source, record, start, length)
        if run.tokenizer:
            add_texts(run, rows, columns_of(record).ids)
        return rows

    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        tokenizer_of(run)  # a changed file concerns the whole part, not one record
        return super().scan(run, source, start, stop)

    def annotate(self, run: model.RunInfo, record: Record, sample: model.Sample) -> None:
        if run.tokenizer is None:
            return
        columns = columns_of(record)
        ids, strings = columns.ids, strings_of(run, columns.ids)
        by_template = turns_of_tokens(run, ids, strings, sample.row.prompt_tokens or 0) if strings is not None else []
        sample.turns = by_template or turns_of(columns, strings)
        sample.token_strings, sample.is_decoded = strings or [], strings is not None
        sample.notes[0] = note_of(run, ids, strings) + ("" if by_template else f"; {BY_MASK}")

    def may_cut(self, key: str) -> bool:
        return key not in ("tokens", "token_ids")

    def row(self, source: model.Source, record: Record, start: int, length: int) -> model.SampleRow:
        columns = columns_of(record)
        ids, mask = columns.ids, columns.mask
        first = int(np.argmax(mask)) if mask.any() else len(ids)
        place = parsers.integer(record.get("export_sequence_idx"))
        rank = parsers.integer(record.get("rank"))
        tags = {key: word for key in ("training_mode", "run_id") if (word := parsers.tag(record.get(key)))}
        return model.SampleRow(
            split="train",
            step=step_in(source, record.get("export_step"), record.get("step")),
            group=parsers.digest(shown(ids[:first])),
            index=f"{files.stem(source.name)}:{start}" if place is None or rank is None else f"{rank}-{place}",
            ordinal=place if place is not None else start,
            start=start,
            length=length,
            reward=first_of(columns.floats("rewards")),
            advantage=first_of(columns.floats("advantages")),
            turns=int((np.diff(mask.astype(np.int8), prepend=0) == 1).sum()),
            prompt_tokens=first,
            response_tokens=int(mask.sum()),
            total_tokens=len(ids),
            env=parsers.name(record.get("env_name")) or "",
            metrics=metrics_of(record, columns),
            tags=tags,
            series=tokens.facts_of(series_of(columns)),
            prompt=shown(ids[:first]),
            response=shown(ids[first:]),
        )

    def sample(self, record: Record, row: model.SampleRow, locator: model.Locator) -> model.Sample:
        columns = columns_of(record)
        notes = [f"{note_without_tokenizer(columns.ids)}; {BY_MASK}", *columns.notes, *absences_of(columns)]
        series = [model.TokenSeries(name="loss_mask", values=tokens.packed(columns.mask.astype(np.float64)))]
        for name, values in series_of(columns).items():
            stored = columns.stored(AT_SAMPLING if name == "logprobs" else name)
            beside = None if stored is None else tokens.beside(stored, values)
            series.append(model.TokenSeries(name=name, values=tokens.packed(values), stored=beside))
        return parsers.sample_with(
            row,
            locator,
            turns_of(columns),
            token_ids=columns.ids,
            series=series,
            extra={
                key: parsers.showable(value)
                for key, value in record.items()
                if key not in _READ or (value is not None and _READ[key](value) is None)
            },
            notes=notes,
        )

    def reading_tokens(
        self, run: model.RunInfo, source: model.Source, annotations: Annotations
    ) -> Callable[[bytes, model.Locator], SampleTokens]:
        """See `JsonlFormat`: reads ids as an array, too."""
        if run.reading.fields:
            return super().reading_tokens(run, source, annotations)
        parse_ = arrays.Cutter(line_reader.parse, lambda key: key != "tokens").parse
        return lambda data, _: tokens_of(parse_(data))

    def step_states(self, run: model.RunInfo) -> dict[tuple[str, int], str]:
        """Only versions that write `STABLE` have unfinished steps."""
        states: dict[tuple[str, int], str] = {}
        for part in run.parts:
            for folder in files.folders(part.path, files.links_of(run)):
                match = _STEP.fullmatch(folder.name)
                if match and (state := _state(folder.path, files.links_of(run))):
                    states["train", int(match["step"])] = state
        return states


def _rank_files(folder: str, links: str) -> list[tuple[model.Location, int | None]]:
    matches = [(below.path, match) for below in files.folders(folder, links) if (match := _STEP.fullmatch(below.name))]
    places = [(folder, None), *((path, int(match["step"])) for path, match in matches)]
    ranks = [(location, step) for path, step in places for location in _ranks(files.files(path, links))]
    return sorted(ranks, key=lambda rank: (rank[1] or 0, rank[0]))


def _ranks(listed: list[files.FolderEntry]) -> list[model.Location]:
    return [entry.location for entry in listed if _RANK.fullmatch(files.plain_name(entry.name))]


def _fits(looks: list[peek.Peek]) -> bool:
    return any(record.keys() >= _TELLING for seen in looks for record in seen.objects)


def _state(folder: str, links: str) -> str:
    """Return `being written` or `incomplete` for a step that is not finished, else an empty text."""
    try:
        listed = files.entries(folder, links)
    except OSError:
        return ""
    if any(entry.name == STABLE for entry in listed):
        return ""
    paths = _ranks(listed)
    keys = {key for record in peek.first_records(paths) for key in record}
    if not keys or ("training_mode" in keys and "export_step" not in keys):  # before #2641 there was no STABLE
        return ""
    changed_s = 0.0
    for place in paths:
        with contextlib.suppress(OSError):
            changed_s = max(changed_s, path_state(place.path).st_mtime)
    return "incomplete" if time.time() - changed_s > QUIET_S else "being written"


def _names(folder: str, links: str) -> Iterator[str]:
    """Yield the tokenizers that configurations name, or else the model's own."""
    import tomllib

    configs = {entry.name: entry.location for entry in files.files(folder, links, (".json", ".toml"))}
    for name in CONFIGS:
        for ending, decode in ((".json", msgspec.json.decode), (".toml", lambda data: tomllib.loads(data.decode()))):
            try:
                config = as_dict(decode(read_bytes(configs.get(name + ending), MAX_CONFIG_BYTES)))
            except (ValueError, RecursionError):
                continue
            for part in (config, as_dict(config.get("trainer")), as_dict(config.get("orchestrator"))):
                chosen = as_dict(part.get("tokenizer")).get("name") or as_dict(part.get("model")).get("name")
                if isinstance(chosen, str):
                    yield chosen


class TokenColumns:
    """The arrays of a record, cut to one length, with NaN outside the mask."""

    def __init__(self, record: Record) -> None:
        self._record = record
        raw_ids = parsers.as_list(record.get("token_ids"))
        most = parsers.MAX_INT64
        is_whole = set(map(type, raw_ids)) == {int} and -most <= min(raw_ids) <= max(raw_ids) <= most
        ids = raw_ids if is_whole else [-1 if (id_ := parsers.integer(value)) is None else id_ for value in raw_ids]
        mask = tokens.read_floats(record.get("loss_mask"))
        flags = np.zeros(0, dtype=np.bool_) if mask is None else tokens.counts(mask)
        present = {key: length for key in ARRAYS if (length := tokens.length(record.get(key))) is not None}
        lengths = {key: length for key, length in present.items() if key != "tokens" and length}
        self.length, self.notes = tokens.aligned(lengths)
        if not len(flags) and self.length:
            self.notes.append("no loss_mask: nothing says which tokens were sampled, so no value is shown")
        if not ids and self.length:
            self.notes.append("no token_ids: values are shown without text")
        self.ids = ids[: self.length]
        self._floats: dict[str, tokens.Floats | None] = {}
        self.mask: tokens.Flags = np.zeros(self.length, dtype=np.bool_)
        self.mask[: len(flags)] = flags[: self.length]

    def floats(self, key: str) -> tokens.Floats | None:
        """Return a column as float64, shape (T,), NaN outside the mask; None if it is not an array."""
        if key not in self._floats:
            values = self.stored(key)
            if values is not None:
                values = np.where(self.mask, values, np.nan)
                if key in OF_TRAINER:
                    values[:1] = np.nan
            self._floats[key] = values
        return self._floats[key]

    def stored(self, key: str) -> tokens.Floats | None:
        """Return a column as stored, shape (T,), garbage included: for writers, never for display."""
        values = tokens.read_floats(self._record.get(key))
        return None if values is None else values[: self.length]


def columns_of(record: Record) -> TokenColumns:
    """Read the columns of a record. Raises `Unusable` for a record that is not a sample."""
    if "token_ids" not in record and "tokens" not in record:
        raise Unusable("an object without token_ids or tokens is not a sample")
    objects = record.get("tokens")
    if isinstance(record.get("token_ids"), list) or not isinstance(objects, list):
        return TokenColumns(record)
    rows = [token if isinstance(token, dict) else {} for token in objects]
    keys = dict.fromkeys(key for row in rows for key in row if key in OF_THE_FIRST or key in ARRAYS)
    return TokenColumns({**record, **{OF_THE_FIRST.get(key, key): [row.get(key) for row in rows] for key in keys}})


def metrics_of(record: Record, columns: TokenColumns) -> dict[str, float]:
    """Return the numbers of a record that are sample metrics, and metrics derived from its columns."""
    metrics = {key: float(number) for key in NUMBERS if (number := parsers.integer(record.get(key))) is not None}
    metrics.pop("schema_version", None)
    if record.get("export_step") is not None and (step := parsers.number(record.get("step"))) is not None:
        metrics["trainer_step"] = step
    for name, (key, summary) in SUMMARIES.items():
        values = columns.floats(key)
        if values is not None and (value := summary(values)) is not None:
            metrics[name] = value
    rl_weights, ce, ref = (columns.floats(key) for key in ("rl_weights", "ce_weights", "ref_kl_weights"))
    if ce is not None and not np.isnan(ce).all():  # without weights the RL loss has weight 1, others 0
        rl = 1.0 if rl_weights is None or np.isnan(rl_weights).all() else rl_weights
        other = 0.0 if ref is None else np.nan_to_num(ref)
        metrics["ce_only"] = float(np.count_nonzero((ce > 0) & (rl == 0) & (other == 0)))
    return metrics


def series_of(columns: TokenColumns) -> dict[str, tokens.Floats]:
    """Return the token series by name, without those that have no value at all."""
    read = ((name, columns.floats(name)) for name in SERIES)
    return {
        "logprobs" if name == AT_SAMPLING else name: values
        for name, values in read
        if values is not None and len(values) and not (np.isnan(values[-1]) and np.isnan(values).all())
    }  # check the last token first: it is usually trained


def tokens_of(record: Record) -> tokens.SampleTokens:
    """Return the tokens of a sample. Raises `Unusable` for a record that is not a sample."""
    values = record.get("token_ids")
    columns = columns_of(record)
    if isinstance(values, np.ndarray):
        is_id = np.isfinite(values) & (np.abs(values) < 2**53) & (values == np.floor(values))
        ids = np.where(is_id, values, -1).astype(np.int64)[: columns.length]
    else:
        ids = np.array(columns.ids, np.int64)
    series = {tokens.MASK: columns.mask.astype(np.float64), **series_of(columns)}
    return tokens.SampleTokens(columns.length, series, ids=ids if len(ids) else None)


def first_of(values: tokens.Floats | None) -> float | None:
    """Return the first finite value: rewards and advantages are the same for all tokens of a sequence."""
    return None if values is None or not len(known := tokens.finite(values)) else float(known[0])


def turns_of(columns: TokenColumns, strings: Sequence[str] | None = None) -> list[model.Turn]:
    """Return a turn for each span of the mask, and for each span between. Without `strings`, turns show the ids."""
    changes = np.flatnonzero(np.diff(columns.mask)) + 1
    edges = [0, *changes[: MAX_TURNS - 1].tolist(), columns.length] if columns.length else []
    turns = []
    for start, stop in pairwise(edges):
        sampled = bool(columns.mask[start])
        role = "assistant" if sampled else "prompt" if start == 0 else "context"
        ids = [model.Part(kind="text", text=shown(columns.ids[start:stop]))]
        parts = ids if strings is None else text.parts("".join(strings[start:stop]), role)
        turn = model.Turn(role=role, parts=parts, origin="response" if sampled or start else "prompt")
        turn.tokens, turn.token_start, turn.token_stop = stop - start, start, stop
        turns.append(turn)
    return turns


def absences_of(columns: TokenColumns) -> list[str]:
    """Return notes on absent values, with the reasons."""
    if not columns.mask.any():
        return []
    notes = ["outside of the loss mask and at index 0 the trainer leaves dummies: no value is shown there or averaged"]
    by_trainer = {key: values for key in OF_TRAINER if (values := columns.floats(key)) is not None}
    empty = [key for key, values in by_trainer.items() if np.isnan(values).all()]
    if empty:
        notes.append(f"null throughout, because they have no meaning for this sequence: {', '.join(empty)}")
    if "trainer_logprobs" in by_trainer and "trainer_logprobs" not in empty:
        missing = np.count_nonzero(columns.mask[1:] & np.isnan(by_trainer["trainer_logprobs"][1:]))
        if missing:
            what = f"no finite value for {missing} of the tokens under the mask"
            notes.append(f"trainer_logprobs has {what}: written as null")
    return notes
