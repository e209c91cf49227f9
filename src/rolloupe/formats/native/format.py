"""Rolloupe's own layout, written by `rolloupe.record`; docs/native-format.md specifies it.

Text and numbers are JSON lines; token series lie in small Parquet parts, which a line names by number and row.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rolloupe import model, tokens
from rolloupe.formats.base import Annotations
from rolloupe.formats.generic.row_tokens import alternatives_of
from rolloupe.formats.native import run_files
from rolloupe.formats.reading import record_blocks as blocks
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import file_of, files, folders, is_one_file, links_of, plain_name, source_at, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.record_blocks import TEXTS, RecordBlock
from rolloupe.formats.reading.records import Record, References, Unusable, step_of
from rolloupe.storage import is_file, is_folder
from rolloupe.tokens import SampleTokens

MARKER = "rolloupe.json"
VERSION = 1
MAX_ERROR_CHARS = 4_000
"""The characters shown from the end of a failed rollout's error; the extra fields hold all of it."""

_WHAT = {
    MARKER: "what the run is", "config.json": "configuration", "code.diff": "changes of the code",
    "attempts.jsonl": "attempts", "ended.jsonl": "attempts", "checkpoints.jsonl": "checkpoints",
}  # fmt: skip
_CONFIG = re.compile(r"config\..+\.json")
"""Earlier configurations, and those of single processes."""

FOLDERS = {
    "samples": "samples", "annotations": "annotations", "metrics": "metrics", "tokens": "token series",
    "torn": "ends of lines that a killed process left", "losses": "what was not written",
}  # fmt: skip
_TELLING = ("uid", "step", "prompt", "response", "reward")

_PLACED: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(("uid", "split", "group", "index", "env"), parsers.name),
    **dict.fromkeys(("reward", "advantage", "ref_reward"), parsers.number),
    **dict.fromkeys(("turns", "prompt_tokens", "response_tokens", "launch"), parsers.count),
    **dict.fromkeys(("tokens", "top_logprobs", "dropped", "uneven"), tokens.length),
    **dict.fromkeys(("prompt", "response", "ref_response", "label"), parsers.as_text),
    "step": parsers.integer,
    "status": parsers.tag,
    "discarded": parsers.reason,
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""


class Native(JsonlFormat):
    """Runs that `rolloupe.Recorder` wrote."""

    name = "native"
    sources_by_name = True
    title = "Rolloupe"
    annotates_by_place = True

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        links = link_root or str(path.resolve())
        marker, reason = _marker(path, links), f"{MARKER} says so"
        if marker is None and forced and (is_one_file(path) or files(str(path), links)):
            marker, reason = {"version": VERSION}, "read as --format says"
        if marker is None:
            return []
        version = parsers.integer(marker.get("version"))
        if version is None or version > VERSION:
            reason = f"{MARKER} says version {version}, and {VERSION} is the last one known here: update Rolloupe"
        ranges = {name: _range(ends) for name, ends in parsers.as_dict(marker.get("metric_ranges")).items()}
        return [
            replace(
                self._run_at(path, reason, links),
                reward_range=_range(marker.get("reward_range")),
                metric_ranges=tuple((name, *ends) for name, ends in ranges.items() if ends is not None),
            )
        ]

    def run_around(self, path: Path) -> Path | None:
        folder = path if is_folder(path) else path.parent
        return folder.parent if folder.name in FOLDERS and self.detect(folder.parent) else None

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """A run of one named file has that file as its only source."""
        if is_file(run.root):
            return [source_at(run, model.Location(run.root, links_of(run)))]
        marker = _marker(Path(run.root), links_of(run))
        if marker is None:
            return [source_at(run, entry.location) for entry in files(run.root, links_of(run))]
        if (parsers.integer(marker.get("version")) or 0) > VERSION:
            return []
        return [
            source_at(run, entry.location, annotates=folder == "annotations")
            for folder in ("samples", "annotations")
            for entry in files(os.path.join(run.root, folder), links_of(run))
        ]

    def rows(self, source: model.Source, record: Record, start: int, length: int) -> list[model.Scanned]:
        if source.annotates:
            rows: list[model.Scanned] = [_annotation(record, start, length)]
        else:
            rows = [self.row(source, record, start, length)]
        if isinstance(uneven := record.get("uneven"), list) and uneven:
            names = ", ".join(parsers.as_text(name)[:60] for name in uneven[:20])
            reason = f"token series neither as long as all tokens of the sample nor as its response: {names}"
            rows.append(model.Problem(source=source.name, reason=reason, start=start, stop=start + length))
        return rows

    def row(self, source: model.Source, record: Record, start: int, length: int) -> model.SampleRow:  # noqa: ARG002
        if record.keys().isdisjoint(_TELLING):
            raise Unusable("an object without uid, step, prompt, response or reward is not a sample")
        metrics, series = _measured(record)
        turns = parsers.count(record.get("turns"))
        counts = [parsers.count(record.get(f"{part}_tokens")) for part in ("prompt", "response")]
        return parsers.row_of(
            start,
            length,
            record.get("prompt"),
            record.get("response"),
            split=parsers.name(record.get("split")) or "train",
            step=step_of(record.get("step")) or 0,
            group=parsers.name(record.get("group")),
            index=_index(parsers.name(record.get("index")), start),
            reward=parsers.number(record.get("reward")),
            advantage=parsers.number(record.get("advantage")),
            status=parsers.status(record.get("status")),
            turns=1 if turns is None else turns,
            prompt_tokens=counts[0],
            response_tokens=counts[1],
            total_tokens=None if None in counts else sum(filter(None, counts)),
            launch=parsers.count(record.get("launch")) or 0,
            env=parsers.name(record.get("env")) or "",
            uid=parsers.name(record.get("uid")) or "",
            discarded=parsers.reason(record.get("discarded")) or "",
            metrics=metrics,
            tags=parsers.tags(record.get("tags")),
            series=series,
        )

    def columns(
        self,
        run: model.RunInfo,  # noqa: ARG002
        source: model.Source,
        block: RecordBlock,
    ) -> model.SampleColumns | None:
        """See `JsonlFormat`: `row` for samples whose responses are texts."""
        asked = blocks.prompts_in(block, "prompt")
        rewards, is_uneven = block.numbers("reward"), "uneven" in block.columns and any(block.values("uneven"))
        is_usual = block.types("response") == TEXTS and not (is_uneven or blocks.have_texts(block, rewards))
        if source.annotates or asked is None or not is_usual:
            return None
        names = [key for key in _MEASURED if key in block.columns]
        records = [dict(zip(names, values, strict=True)) for values in zip(*map(block.values, names), strict=True)]
        measured = [*map(_measured, records or [{}] * block.count)]
        prompts, responses = block.counts("prompt_tokens"), block.counts("response_tokens")
        fields: dict[str, Sequence[Any]] = {
            **blocks.fields_of(block, asked, "response", block.names("group"), block.read("status", parsers.status)),
            "split": [name or "train" for name in block.names("split")],
            "step": block.read("step", lambda step: step_of(step) or 0),
            "index": [*map(_index, block.names("index"), block.starts)],
            "reward": rewards,
            "advantage": block.numbers("advantage"),
            "turns": block.read("turns", lambda turns: 1 if (count := parsers.count(turns)) is None else count),
            "prompt_tokens": prompts,
            "response_tokens": responses,
            "total_tokens": [
                None if own is None or other is None else own + other
                for own, other in zip(prompts, responses, strict=True)
            ],
            "launch": block.read("launch", lambda launch: parsers.count(launch) or 0),
            **{key: [name or "" for name in block.names(key)] for key in ("env", "uid")},
            "discarded": block.read("discarded", lambda reason: parsers.reason(reason) or ""),
            "series": [series for _, series in measured],
        }  # fmt: skip
        metrics, tags = blocks.by_name([own for own, _ in measured]), [parsers.tags(own.get("tags")) for own in records]
        if not all(map(blocks.are_exact, (fields["step"], *metrics.values()))):
            return None
        return model.SampleColumns(count=block.count, fields=fields, metrics=metrics, tags=blocks.by_name(tags))

    def references(self, record: Record) -> References:
        turns = parsers.response_turns(record.get("ref_response"))
        return References(parsers.as_text(record.get("label")), turns)

    def sample(self, record: Record, row: model.SampleRow, locator: model.Locator) -> model.Sample:
        sample = parsers.sample_of(row, locator, record.get("prompt"), record.get("response"))
        sample.label, sample.ref_turns = self.references(record)
        sample.ref_reward = parsers.number(record.get("ref_reward"))
        sample.token_strings = parsers.texts(parsers.as_list(record.get("tokens")))
        sample.top_logprobs = alternatives_of(record.get("top_logprobs"))
        sample.extra = _extra(record)
        error = sample.extra.get("error")
        sample.notes = [f"error: {error[-MAX_ERROR_CHARS:]}"] if isinstance(error, str) else []
        return sample

    def annotate(self, run: model.RunInfo, record: Record, sample: model.Sample) -> None:
        self._add(run, record, sample, None)

    def samples_at(
        self, run: model.RunInfo, source: model.Source, places: Sequence[model.Locator]
    ) -> Iterator[model.Sample | model.Problem]:
        """See `Format`: other files hold only token series and annotations."""
        return self.samples_in_order(run, source, places, lambda _run, _record, _sample: None)

    def load_annotated(
        self, run: model.RunInfo, source: model.Source, locator: model.Locator, annotations: Sequence[model.Locator]
    ) -> model.Sample:
        return self.loaded(run, source, locator, partial(self._add, places=annotations))

    def _add(
        self, run: model.RunInfo, record: Record, sample: model.Sample, places: Sequence[model.Locator] | None
    ) -> None:
        _add_series(run, sample.locator.source, record, sample)
        lines, notes = run_files.annotations_of(run, sample.row.uid, places, self.raw)
        sample.notes += notes
        for source, line in lines:
            annotation, row = _annotation(line, 0, 0), sample.row
            row.advantage = row.advantage if annotation.advantage is None else annotation.advantage
            row.discarded = row.discarded if annotation.discarded is None else annotation.discarded
            row.metrics = row.metrics | annotation.metrics
            row.tags = row.tags | annotation.tags
            _add_series(run, source, line, sample)
        count, response = len(sample.token_ids), sample.row.response_tokens
        if odd := [series for series in sample.series if count and len(series.values) not in (count, response)]:
            lengths = ", ".join(f"{series.name[:60]} {len(series.values):,}" for series in odd[:20])
            among = f"the {count:,} tokens" + ("" if response is None else f", {response:,} of them of the response")
            sample.notes.append(f"token series of another length than {among}: {lengths}; shown at the last tokens")
        tokens.hide_masked(sample.series)

    def reading_tokens(
        self, run: model.RunInfo, source: model.Source, annotations: Annotations
    ) -> Callable[[bytes, model.Locator], SampleTokens]:
        quick = run_files.NativeTokens(run, source)
        newer = self.lines_at(run, chain.from_iterable(annotations.values()))

        def read(data: bytes, place: model.Locator) -> SampleTokens:
            noted = annotations.get(place, ())
            read_quickly = quick.read(data, [(note.source, newer[note]) for note in noted if note in newer])
            if read_quickly is not None:
                return read_quickly
            record, row = self._parsed(run, source, data, place)
            sample = self.sample(record, row, place)
            self._add(run, record, sample, noted or [])
            return tokens.tokens_of(sample)

        return read

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        return run_files.metrics_in(_metrics_files(run))

    def times_s(self, run: model.RunInfo) -> list[float]:
        rows = (row for place in _metrics_files(run) for row in trainer.records(place))
        return [time for row in rows if (time := parsers.number(row.get("time"))) is not None]

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        lines = (_file(run, name) for name in ("checkpoints.jsonl", "attempts.jsonl", "ended.jsonl"))
        named = trainer.json_sources(run.root, [*_metrics_files(run), _config_file(run), *lines])
        return [*named, *_losses_files(run)]

    def losses(self, run: model.RunInfo) -> list[model.Problem]:
        return run_files.losses_in(trainer.json_sources(run.root, _metrics_files(run)), _losses_files(run))

    def config(self, run: model.RunInfo) -> dict[str, Any]:
        config = trainer.read_json(_config_file(run))
        return config if isinstance(config, dict) else {} if config is None else {"config": config}

    def checkpoints(self, run: model.RunInfo) -> list[model.Checkpoint]:
        return [
            model.Checkpoint(
                name=parsers.as_text(row.get("name")),
                step=parsers.integer(row.get("step")),
                paths={name: parsers.as_text(path) for name, path in parsers.as_dict(row.get("paths")).items()},
                extra=parsers.as_dict(parsers.showable(row.get("loop_state"))),
            )
            for row in trainer.records(_file(run, "checkpoints.jsonl"))
        ]

    def ending(self, run: model.RunInfo) -> str:
        """A run has ended if each producer of its last launch noted its end after its last attempt."""
        began = {parsers.as_text(row.get("producer")): row for row in trainer.records(_file(run, "attempts.jsonl"))}
        ended = {parsers.as_text(row.get("producer")): row for row in trainer.records(_file(run, "ended.jsonl"))}
        newest = max((parsers.integer(row.get("launch")) or 0 for row in began.values()), default=0)
        last = [name for name, row in began.items() if parsers.integer(row.get("launch")) in (None, newest)]
        times = [[parsers.number(by_name.get(name, {}).get("time")) for by_name in (began, ended)] for name in last]
        is_over = all(end is not None and end >= (begin or 0.0) for begin, end in times)
        return "" if not times else "ended" if is_over else "open"

    def code_diff(self, run: model.RunInfo) -> str:
        return trainer.read_text(_file(run, "code.diff"), 4 * 2**20)

    def files(self, run: model.RunInfo) -> list[model.RunFile]:
        """List the files; for token series, the folders alone."""
        links, listed = links_of(run), []
        for entry in files(run.root, links, ("",)):
            name = plain_name(entry.name)
            what = "configuration" if _CONFIG.fullmatch(name) else _WHAT.get(name, "")
            listed.append((entry.path, entry.name, what))
        for folder, what in FOLDERS.items():
            place = os.path.join(run.root, folder)
            below = files(place, links, ("",)) + (folders(place, links) if folder == "tokens" else [])
            listed += [(entry.path, f"{folder}/{entry.name}", what) for entry in below]
        return trainer.described_files(listed)


def _marker(folder: Path, links: str) -> Record | None:
    place = folder / MARKER
    marker = trainer.read_json(model.Location(str(place), links)) if is_file(place) else None
    return marker if isinstance(marker, dict) and marker.get("layout") == "rolloupe" else None


def _file(run: model.RunInfo, name: str) -> model.Location | None:
    return file_of(run.root, name, links_of(run))


def _metrics_files(run: model.RunInfo) -> list[model.Location]:
    return [entry.location for entry in files(os.path.join(run.root, "metrics"), links_of(run))]


def _losses_files(run: model.RunInfo) -> list[model.Source]:
    lines = files(os.path.join(run.root, "losses"), links_of(run))
    return trainer.json_sources(run.root, [entry.location for entry in lines])


def _config_file(run: model.RunInfo) -> model.Location | None:
    return _file(run, "config.rolloupe.json") or _file(run, "config.json")


def _range(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    low, high = map(parsers.number, value)
    return None if low is None or high is None else (low, high)


def _facts(record: Record) -> dict[str, model.SeriesFacts]:
    declared = {}
    for name, values in parsers.as_dict(parsers.as_dict(record.get("series")).get("facts")).items():
        numbers = [parsers.number(value) for value in parsers.as_list(values)]
        whole = [number for number in numbers if number is not None and math.isfinite(number)]
        if len(numbers) == len(whole) == 7 and whole[0] >= 1:
            count, total, m2, low, low_at, high, high_at = whole
            if all(0 <= place <= parsers.MAX_STEP for place in (count, low_at, high_at)):
                declared[name] = model.SeriesFacts(int(count), total, m2, low, int(low_at), high, int(high_at))
    return declared


def _extra(record: Record) -> dict[str, Any]:
    """Return every member that appears nowhere else, including members of a wrong type."""
    extra = {}
    for key, value in record.items():
        if key in _PLACED:
            rest = None if value is None or _PLACED[key](value) is not None else value
        elif key in ("metrics", "tags") and isinstance(value, dict):
            placed = parsers.numbers(value) if key == "metrics" else parsers.tags(value)
            rest = {name: member for name, member in value.items() if name not in placed} or None
        elif key == "series" and isinstance(value, dict) and parsers.count(value.get("part")) is not None:
            rest = None
        else:
            rest = value
        if rest is not None or key not in (*_PLACED, "metrics", "tags", "series", "extra"):
            extra[key] = parsers.showable(rest)
    more = extra.pop("extra", None)
    return {**extra, **(more if isinstance(more, dict) else {} if more is None else {"extra": more})}


def _annotation(record: Record, start: int, length: int) -> model.Annotation:
    uid = parsers.name(record.get("uid"))
    if uid is None:
        raise Unusable("an annotation without uid")
    facts, advantage = _facts(record), parsers.number(record.get("advantage"))
    return model.Annotation(
        uid=uid,
        start=start,
        length=length,
        advantage=advantage,
        discarded=parsers.reason(record.get("discarded")),
        metrics=_means(record, facts) | parsers.numbers(record.get("metrics")),
        tags=parsers.tags(record.get("tags")),
        # an advantage counts for each token
        series=tuple(dict.fromkeys((*facts, *([] if advantage is None else [tokens.ADVANTAGES])))),
    )


def _index(name: str | None, start: int) -> str:
    return str(start) if name is None else name


_MEASURED = ("reward", "advantage", "metrics", "tags", "series", "ref_reward", "ref_response")


def _measured(record: Record) -> tuple[dict[str, float], dict[str, model.SeriesFacts]]:
    """Return the sample metrics and the facts of token series of a line."""
    reward, series = parsers.number(record.get("reward")), _facts(record)
    means = _means(record, series)
    means.pop("kl", None)  # `derived_metrics` computes it
    metrics = means | parsers.numbers(record.get("metrics"))
    reference = parsers.joined(record.get("ref_response"), thoughts=True)
    derived = derived_metrics(reward, parsers.number(record.get("ref_reward")), reference, metrics, series)
    return metrics | derived, series


def _means(record: Record, series: Mapping[str, model.SeriesFacts]) -> dict[str, float]:
    """Return the means of a sample's token series, unless the line holds them."""
    excluded = {*tokens.MASKS, *(() if parsers.number(record.get("advantage")) is None else ("advantages",))}
    return {name: facts.sum / facts.count for name, facts in series.items() if name not in excluded}


def derived_metrics(
    reward: float | None,
    ref_reward: float | None,
    ref_response: str,
    metrics: Mapping[str, float],
    series: Mapping[str, model.SeriesFacts],
) -> dict[str, float]:
    """Return the reference's reward and length, gaps of rewards, and mean, sum and maximum of log-ratio and KL.

    The log-ratio is logprobs - ref_logprobs. A line holds the sum of each series: the sum of the log-ratio follows if
    both cover the same number of tokens. KL needs a recorded series `kl`; recorded metrics are never overwritten.
    """
    derived = {} if ref_reward is None else {"ref_reward": ref_reward}
    if ref_response:
        derived["ref_response_chars"] = float(len(ref_response))
    for gap, other in (("reward_gap", ref_reward), ("valid_reward_gap", metrics.get("valid_reward"))):
        if reward is not None and other is not None and math.isfinite(reward) and math.isfinite(other):
            derived[gap] = reward - other
    own, reference = series.get("logprobs"), series.get("ref_logprobs")
    if own is not None and reference is not None and own.count == reference.count:
        derived["sum_log_ratio"] = own.sum - reference.sum
        derived["avg_log_ratio"] = derived["sum_log_ratio"] / own.count
    if (kl := series.get("kl")) is not None:
        derived |= {"avg_kl": kl.sum / kl.count, "sum_kl": kl.sum, "max_kl": kl.max}
    return {name: value for name, value in derived.items() if name not in metrics}


def _add_series(run: model.RunInfo, source: str, record: Record, sample: model.Sample) -> None:
    """Read the token series that a line names; they replace older series of the same names."""
    dropped = record.get("dropped")
    if isinstance(dropped, list) and dropped:
        listed = ", ".join(parsers.as_text(name)[:60] for name in dropped[:20])
        sample.notes.append(f"not written, because the recorder had no room left: {listed}")
    series = record.get("series")
    if not isinstance(series, dict):
        return
    part, row = parsers.count(series.get("part")), parsers.count(series.get("row"))
    if part is None or row is None:
        sample.notes.append("the place of its token series cannot be read")
        return
    path = run_files.part_path(run.root, stem(os.path.basename(source)), part)
    try:
        stored = run_files.read_row(model.Location(str(path), links_of(run)), row)
    except run_files.PartUnreadable as error:
        sample.notes.append(f"no token series: {error}")
        return
    if stored.uid != sample.row.uid:
        sample.notes.append(f"no token series: row {row} of {path.name} is of another sample")
        return
    if stored.unread:
        listed = ", ".join(name[:60] for name in stored.unread[:20])
        sample.notes.append(f"columns of {path.name} that are not lists of numbers: {listed}")
    if stored.total > (most := tokens.most_tokens(len(stored.series))):
        sample.notes.append(f"{path.name} holds {stored.total:,} tokens of the sample: the first {most:,} are shown")
        sample.unread_tokens = stored.total - most
    _place(sample, stored.ids.tolist(), stored.series)


def add_arrays(sample: model.Sample, token_ids: list[int], series: Mapping[str, tokens.Floats]) -> None:
    """Add token ids and series from a part to a sample that was read from its line alone."""
    _place(sample, token_ids, series)
    tokens.hide_masked(sample.series)


def _place(sample: model.Sample, token_ids: list[int], series: Mapping[str, tokens.Floats]) -> None:
    sample.token_ids = token_ids or sample.token_ids
    count = len(sample.token_ids)
    by_name = {known.name: known for known in sample.series}
    for name, values in series.items():
        by_name[name] = model.TokenSeries(name=name, values=tokens.packed(values), offset=max(0, count - len(values)))
    sample.series = list(by_name.values())
