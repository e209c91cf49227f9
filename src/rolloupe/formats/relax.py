"""Relax: `rollout_result/{train,eval}/{rollout_id}.jsonl`, one sample per line, every generation of keys; debug dumps.

Source: `relax/utils/training/train_dump_utils.py` of Relax, as of July 2026 and later. Relax added keys without a
version number: every known key is read if present, and a line only has to be an object.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rolloupe.formats.base import NO_ANNOTATIONS, Annotations
from rolloupe.formats.generic.keys import Roles, candidates, keep_by_keys, roles_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import alone, files, is_one_file, links_of, plain_name, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import Peek, look, look_into
from rolloupe.formats.reading.pickles import UnreadablePickle
from rolloupe.formats.reading.records import Record, References, Unusable, step_of
from rolloupe.formats.slime.layout import dump_of, state_of
from rolloupe.formats.slime.relax_dumps import (
    SUFFIX,
    RelaxDumps,
    add_tokens,
    dump_beside,
    dumps_beside,
    state_of_dump,
    unjoined,
)
from rolloupe.model import Location, Locator, Problem, RunInfo, RunPart, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.storage import is_file
from rolloupe.tokens import SampleTokens

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
    "rollout_id": fields.integer,
    "sample_index": fields.name,
    "group_index": fields.name,
    "prompt": fields.as_text,
    "response": fields.as_text,
    "status": fields.tag,
    "label": fields.as_text,
    "agent_turns": fields.count,
    "advantage": fields.number,
    "uid": fields.name,
    "trace_id": fields.name,
    "discarded": fields.reason,
    **{key: fields.count for keys in _COUNTS.values() for key in keys},
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""


_DUMPS = RelaxDumps()
_NAMES = ("rollout_id", "sample_index", "group_index")
_SUMS = ("total_length", "total_token_count")


class Relax(JsonlFormat):
    """Rollout results of Relax."""

    name = "relax"
    sources_by_name = True
    title = "Relax"
    endings = (SUFFIX,)
    recognises = (
        "Files named `{number}.jsonl` below `train/` or `eval/` whose rows hold `rollout_id` and `sample_index` (or, "
        "named and placed so, `sample_index` and `response`). Files of PyTorch as slime writes them, with "
        "`decoded_tokens` in the samples."
    )
    layout = (
        "`rollout_result/{train,eval}/{rollout_id}.jsonl`; open that folder, a folder above it, `train/` or `eval/` "
        "alone, one file, or any flat folder of `{step}.jsonl` files with these keys. `reward_terminal_traces/` holds "
        "no samples and is left out. Debug dumps (`--save-debug-rollout-data`) are a run of their own or, in a folder "
        "beside `rollout_result/`, add token ids, strings and logprobs to its samples: open the folder above both."
    )
    identity = (
        "step = `rollout_id`, else the file's number; group = `group_index`, else a hash of the prompt; index = "
        "`sample_index`, else the byte offset. Split `train`, or `eval/{dataset}`."
    )
    reads = (
        ("`prompt`, `response`", "turns; a prompt may be templated text or a list of messages"),
        (
            "`reward`",
            (
                "a number; of an object `score`, else `reward`, else its only number. Numbers of an object are sample "
                "metrics `reward.NAME`, its short texts are tags"
            ),
        ),
        ("`prompt_length`, `response_length`, `total_length` (or `..._token_count`)", "token counts"),
        ("`agent_turns`", "number of turns"),
        ("`status`", "status; `failed` is an error"),
        ("`dataset`", "the split in evaluation files, and the environment"),
        ("`label`", "ground truth"),
        ("`advantage`", "the advantage, which `rolloupe convert` writes; Relax itself stores none"),
        ("`discarded`", "why the trainer discarded it, a text that `rolloupe convert` writes"),
        ("`uid`, `trace_id`", "other frameworks' names of the sample and its trace, which `rolloupe convert` writes"),
        (
            "`rollout_id`, `sample_index`, `group_index`, `total_length`",
            "also shown under these names among the sample's facts",
        ),
        ("any other number", "sample metric (`image_count`, `image_token_count`, `multimodal_token_count`, ...)"),
        ("any other key", "extra (`weight_versions`, `multimodal_inputs`, `latency_trace`, ...)"),
    )
    limits = (
        "The lines hold no token ids, logprobs, advantages or images. The dumps hold token ids, strings and logprobs; "
        "a line and a dumped sample are one where their texts are equal, and those without the other are counted as "
        "problems."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        if path.name.endswith(SUFFIX):
            return _DUMPS.detect(path, forced=forced, link_root=link_root)
        if is_one_file(path):
            return self._one_file(path, forced=forced)
        links = link_root or str(path.resolve())
        for folder in (path, path / RESULT):
            if run := self._result_folder(folder, links, forced=forced):
                return [run]
        return self._flat_folder(path, links, forced=forced) or _DUMPS.detect(path, forced=forced, link_root=links)

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: dumps become a part of the run with lines that lies beside their folder."""
        dumps = [run for run in runs if _is_of_dumps(run)]
        found = []
        for run in [one for one in runs if one not in dumps]:
            beside = [one for one in dumps if _lie_together(one, run)]
            dumps = [one for one in dumps if one not in beside]
            found.append(replace(run, parts=run.parts + tuple(part for one in beside for part in one.parts)))
        return found + dumps

    def _one_file(self, path: Path, *, forced: bool) -> list[RunInfo]:
        if not forced and not _fits([look(alone(path))], placed=False):
            return []
        part = RunPart(str(path), path.parent.name if path.parent.name in SPLITS else None)
        return [self._run(path, stem(path.name), "one file, rows have rollout_id and sample_index", [part], "")]

    def _result_folder(self, folder: Path, links: str, *, forced: bool) -> RunInfo | None:
        found = {split: _numbered(str(folder / split), links) for split in SPLITS}
        number = sum(map(len, found.values()))
        if not number:
            return None
        looks = [seen for split in SPLITS for _, seen in look_into(found[split])]
        if not (forced or _fits(looks, placed=True) or (not looks and folder.name == RESULT)):
            return None
        keys = _keys_seen(looks)
        places = " and ".join(f"{split}/" for split in SPLITS if found[split])
        named = f"{number} file{'s' if number > 1 else ''} named {{step}}.jsonl below {places}"
        parts = [RunPart(str(folder / split), split) for split in SPLITS]
        return self._run(folder, _name_of(folder), f"{named}, {keys}", parts, links)

    def _flat_folder(self, folder: Path, links: str, *, forced: bool) -> list[RunInfo]:
        split = folder.name if folder.name in SPLITS else None
        listed = _numbered(str(folder), links)
        looks = [seen for _, seen in look_into(listed)]
        parts = [RunPart(str(folder), split)]
        named = f"{len(listed)} file{'s' if len(listed) > 1 else ''} named {{step}}.jsonl, {_keys_seen(looks)}"
        if forced and not listed:
            parts = [RunPart(entry.path, split) for entry in files(str(folder), links, (".jsonl",))]
            named = f"{len(parts)} files, read as --format says"
        elif not forced and not _fits(looks, placed=False):
            return []
        return [self._run(folder, _name_of(folder), named, parts, links)] if parts else []

    def _run(self, root: Path, name: str, reason: str, parts: list[RunPart], links: str) -> RunInfo:
        return RunInfo(name=name, root=str(root), format=self.name, reason=reason, parts=tuple(parts), link_root=links)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`. `Source.split` is `train`, `eval` (the row names the data set) or None."""
        if _is_of_dumps(run):
            return _DUMPS.sources(run)
        dumps = _dump_parts(run)
        found = self._lines(run, [part for part in run.parts if part not in dumps])
        if not dumps:
            return found
        beside = dumps_beside(run, dumps)
        with_dumps = [replace(one, depends=state_of_dump(beside.get(_step_of(one)))) for one in found]
        states = {_step_of(one): state_of(one.location) for one in found}
        return with_dumps + [
            Source(
                path=one.location.path, name="/".join(Path(one.location.path).parts[-2:]), root=one.location.root,
                step=one.step, split="eval" if one.is_eval else None, annotates=True, depends=states.get(key, ""),
            )
            for key, one in beside.items()
        ]  # fmt: skip

    def _lines(self, run: RunInfo, parts: list[RunPart]) -> list[Source]:
        found = []
        for part in parts:
            named = plain_name(part.path).endswith(".jsonl") and is_file(part.path)
            listed = [Location(part.path, links_of(run))] if named else _numbered(part.path, links_of(run))
            below = os.path.join(run.root, "")
            for path, root in listed:  # thousands: strings take a tenth of the time of paths
                file = os.path.basename(path)
                name = file if path == run.root else path.removeprefix(below).replace(os.sep, "/")
                step = fields.integer(stem(file))
                found.append(Source(path=path, name=name, root=root, split=part.split, step=step))
        return found

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`. Of a dump beside lines only what cannot be joined is counted: the lines are the samples."""
        if source.annotates:
            return self._unjoined(run, source) if start == 0 < stop else iter(())
        reader = _DUMPS.scan if source.path.endswith(SUFFIX) else super().scan
        return reader(run, source, start, stop)

    def _unjoined(self, run: RunInfo, source: Source) -> Iterator[Scanned]:
        dump = dump_of(source.location)
        lines = [one for one in self.sources(run) if not one.annotates and _step_of(one) == (dump.step, dump.is_eval)]
        if not lines:
            yield Problem(source=source.name, reason="its samples have no lines: no file of lines is of its step")
            return
        rows = (row for one in lines for row in super(Relax, self).scan(run, one, 0, 2**62))
        try:
            for reason in unjoined(dump, (row for row in rows if isinstance(row, SampleRow))):
                yield Problem(source=source.name, reason=reason)
        except (OSError, UnreadablePickle, Unusable) as error:
            reason = f"no tokens from it: {error}"
            yield Problem(source=source.name, reason=reason, transient=isinstance(error, UnreadablePickle))

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        reader = _DUMPS.load if source.path.endswith(SUFFIX) else super().load
        return reader(run, source, locator)

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `Format`."""
        return None if source.path.endswith(SUFFIX) else super().load_texts(run, source, locator)

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`."""
        return (_DUMPS.raw if source.path.endswith(SUFFIX) else super().raw)(source, locator)

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        """See `Format`."""
        reader = _DUMPS.token_arrays if source.path.endswith(SUFFIX) else super().token_arrays
        return reader(run, source, places, annotations)

    def rows_of(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample has token series if a dump of its step lies beside the lines."""
        found = super().rows_of(run, source, record, start, length)
        for row in found if source.depends else ():
            if isinstance(row, SampleRow):
                row.has_series = True
        return found

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:  # noqa: ARG002
        """See `JsonlFormat`: add the tokens of the debug dump of its step."""
        is_eval = sample.row.split.partition("/")[0] == "eval"
        dump = dump_beside(run, _dump_parts(run), sample.row.step, is_eval=is_eval)
        if dump is not None:
            add_tokens(dump, sample)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `JsonlFormat`."""
        reward = fields.reward(record.get("reward"))
        status, status_raw = fields.status(record.get("status"))
        prompt = fields.joined(record.get("prompt"))
        index = fields.name(record.get("sample_index"))
        ordinal = fields.integer(record.get("sample_index"))
        counts = _counts(record)
        usual = roles_of(record) if _has_more(tuple(record)) else None
        if usual and status == "unknown":
            status, status_raw = usual.status(record)
        return SampleRow(
            split=_split(source, record),
            step=step if (step := step_of(record.get("rollout_id"))) is not None else (source.step or 0),
            group=fields.name(record.get("group_index")) or _named(usual, "group", record) or fields.digest(prompt),
            index=index if index is not None else str(start),
            ordinal=ordinal if ordinal is not None else start,
            start=start,
            length=length,
            reward=reward.value,
            advantage=fields.number(record.get("advantage")),
            status=status,
            status_raw=status_raw,
            turns=fields.count(record.get("agent_turns")) or 1,
            prompt_tokens=counts["prompt_tokens"],
            response_tokens=counts["response_tokens"],
            total_tokens=counts["total_tokens"],
            env=fields.name(record.get("dataset")) or _named(usual, "env", record),
            uid=fields.name(record.get("uid")) or "",
            trace_id=fields.name(record.get("trace_id")) or "",
            discarded=fields.reason(record.get("discarded")) or "",
            metrics=_metrics(record) | reward.metrics,
            tags=reward.tags,
            prompt=prompt,
            response=fields.joined(record.get("response"), thoughts=True),
            messages=fields.chat(record.get("response")),
        )

    def references(self, record: Record) -> References:
        """See `JsonlFormat`."""
        usual = roles_of(record) if "label" not in record and _has_more(tuple(record)) else None
        return References(fields.as_text(record.get(usual.label if usual and usual.label else "label")), [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `JsonlFormat`."""
        sample = fields.sample_of(row, locator, record.get("prompt"), record.get("response"))
        sample.label = self.references(record).label
        sample.extra, sample.facts = _extra(record, row), _facts(record)
        return sample


def _dump_parts(run: RunInfo) -> tuple[RunPart, ...]:
    """The parts of a run with lines that are debug dumps: `joined` put them behind the others."""
    return tuple(
        part
        for number, part in enumerate(run.parts)
        if part.split is None
        and (part.path.endswith(SUFFIX) or (number > 0 and not plain_name(part.path).endswith(".jsonl")))
    )


def _is_of_dumps(run: RunInfo) -> bool:
    """Return whether a run is debug dumps alone."""
    first, links = run.parts[0], links_of(run)
    if first.path.endswith(SUFFIX):
        return len(_dump_parts(run)) == len(run.parts)
    is_folder = first.split is None and len(run.parts) == 1 and not is_file(first.path)
    return is_folder and bool(files(first.path, links, (SUFFIX,))) and not _numbered(first.path, links)


def _lie_together(dumps: RunInfo, run: RunInfo) -> bool:
    """Return whether dumps lie beside the lines of a run, or below the same folder."""
    around = Path(run.root).parent if Path(run.root).name == RESULT else Path(run.root)
    return dumps.link_root == run.link_root and around in Path(dumps.root).parents


def _step_of(source: Source) -> tuple[int | None, bool]:
    """The step of lines, and whether they are of an evaluation: what tells which dump is of them."""
    return source.step, source.split == "eval"


def _numbered(folder: str, link_root: str) -> list[Location]:
    """The files named by a number, in the order of the numbers."""
    found = []
    for nth, entry in enumerate(files(folder, link_root, (".jsonl",))):
        name = plain_name(entry.name)
        if NUMBERED.fullmatch(name):
            digits = name.removesuffix(".jsonl").lstrip("0")
            found.append((len(digits), digits, nth, entry.location))
    return [location for *_, location in sorted(found)]


def _fits(looks: list[Peek], *, placed: bool) -> bool:
    """Return whether one of some files holds rows of Relax; matching names and places lower the bar."""
    return any(_is_row(record, placed) for seen in looks for record in seen.objects)


def _is_row(record: Record, placed: bool) -> bool:
    if "rollout_id" in record and "sample_index" in record:
        return "prompt" in record or "response" in record
    return placed and "sample_index" in record and "response" in record and "reward" in record


def _keys_seen(looks: list[Peek]) -> str:
    if not looks:
        return "all of them empty so far"
    return "rows have rollout_id and sample_index" if _fits(looks, placed=False) else "rows have sample_index"


def _name_of(folder: Path) -> str:
    """The nearest folder with a meaningful name."""
    for candidate in (folder, *folder.parents):
        if candidate.name and candidate.name not in (RESULT, *SPLITS):
            return candidate.name
    return folder.name or str(folder)


def _split(source: Source, record: Record) -> str:
    dataset = fields.name(record.get("dataset"))
    if source.split == "eval" or (source.split is None and dataset):
        return f"eval/{dataset or NO_DATASET}"
    return "train"


def _counts(record: Record) -> dict[str, int | None]:
    found: dict[str, int | None] = dict.fromkeys(_COUNTS)
    for name, keys in _COUNTS.items():
        for key in keys:
            if key in record and (count := fields.count(record[key])) is not None:
                found[name] = count
                break
    response, total = found["response_tokens"], found["total_tokens"]
    if found["prompt_tokens"] is None and response is not None and total is not None and total >= response:
        found["prompt_tokens"] = total - response
    return found


def _metrics(record: Record) -> dict[str, float]:
    inner = record.get("metrics")
    members = {**inner, **record} if isinstance(inner, dict) else record
    return {
        key: value
        for key, member in members.items()
        if key not in _PLACED and key not in ("reward", "dataset") and (value := fields.number(member)) is not None
    }


@keep_by_keys
def _has_more(keys: tuple[str, ...]) -> bool:
    """Whether a row has facts under other usual names than those of Relax."""
    by_role = candidates(keys).by_role
    named = (key for role in ("group", "label", "env", "status_key") for key in by_role.get(role, ()))
    return any(key not in _PLACED and key != "dataset" for key in named)


def _named(usual: Roles | None, role: str, record: Record) -> str:
    key = getattr(usual, role, None)
    return (fields.name(record.get(key)) or "") if key else ""


def _facts(record: Record) -> dict[str, str | float]:
    """The sample's names and its total length under Relax's own keys, as far as the record has them."""
    names = {key: name for key in _NAMES if (name := fields.name(record.get(key))) is not None}
    sums = {key: count for key in _SUMS if (count := fields.count(record.get(key))) is not None}
    return {**names, **sums}


def _extra(record: Record, row: SampleRow) -> dict[str, Any]:
    """Every member that neither the row nor the sample shows."""
    extra = {}
    for key, member in record.items():
        if key == "reward":
            shown = fields.is_shown_reward(member)
        elif key == "dataset":
            shown = fields.name(member) is not None
        elif key in _PLACED:
            shown = member is None or _PLACED[key](member) is not None
        else:
            shown = key in row.metrics
        if not shown:
            extra[key] = fields.showable(member)
    return extra
