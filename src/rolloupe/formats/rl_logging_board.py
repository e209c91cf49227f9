"""RLLoggingBoard: every `.jsonl` of a folder, one sample per line, with token strings and per-token arrays.

Source: HarderThenHarder/RLLoggingBoard, its README and its reader. Any trainer may write such files; data-parallel
ranks write one file each, and the rows of all are merged by their `step`.
"""

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rolloupe import tokens
from rolloupe.formats.generic import row_tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import alone, files, is_one_file, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import Peek, look_into
from rolloupe.formats.reading.records import Record, References, Unusable, step_of
from rolloupe.model import Locator, RunInfo, RunPart, Sample, SampleRow, Source, TokenSeries
from rolloupe.storage import is_below, is_file

PAD_TOKEN = "<PAD>"  # noqa: S105
"""The board's default. It pads prompts on the left and responses on the right."""

SUFFIX = (".jsonl",)
OWN_ARRAYS = ("logprobs", "ref_logprobs", "values", "token_rewards")
ARRAYS = (*OWN_ARRAYS, "entropy", "advantages", "returns", *tokens.MASKS)
NUMBERS = ("ref_reward", "valid_reward", "ref_valid_reward")

_REQUIRED = {"prompt", "response", "reward", "step"}
_OWN = {"response_tokens", "ref_response", *OWN_ARRAYS, *NUMBERS}
_KNOWN = {*_REQUIRED, *_OWN, *ARRAYS, "ground_truth", "discarded"}
_TELLING = _OWN - {"logprobs"}
"""Keys of which one must be there: what else the board reads, any log may hold."""


class RLLoggingBoard(JsonlFormat):
    """Token-level JSON lines for RLLoggingBoard."""

    name = "rl_logging_board"
    sources_by_name = True
    title = "RLLoggingBoard"
    recognises = (
        "A folder with `.jsonl` files whose rows hold `prompt`, `response`, `reward` and `step`, and either nothing "
        "foreign to the board or some of its own keys (`response_tokens`, `logprobs`, `ref_response`, ...)."
    )
    layout = (
        "`{root}/{run}/*.jsonl`: all `.jsonl` files of a folder (ranks) are one run; a folder of such folders holds "
        "many runs. A folder `eval_X` beside `X` or `train_X` becomes the split `eval/X` of that run."
    )
    identity = (
        "step = `step`; group = a hash of the prompt without padding; index = `{file}:{byte offset}`, the file without "
        "`.jsonl`. Split `train`, or `eval/X`."
    )
    reads = (
        ("`prompt`, `response`", f"turns; the pad token `{PAD_TOKEN}` is dropped"),
        ("`reward`, `ref_reward`, `valid_reward`, `ref_valid_reward`", "reward, and sample metrics"),
        ("`ref_response`", "the reference model's response"),
        ("`ground_truth`", "ground truth"),
        ("`discarded`", "why the trainer discarded it, a text that `rolloupe convert` writes"),
        (
            "`response_tokens`",
            "token strings, up to the padding; their number with it is the sample metric `response_tokens_len`",
        ),
        (
            "`logprobs`, `ref_logprobs`, `values`, `token_rewards`",
            (
                "token series, cut to the shortest with a note, or beside a mask as those of plain JSON lines; derived "
                "from the first two, `log_ratio` = logprobs - ref_logprobs and `kl` = exp(log_ratio) - 1 - log_ratio"
            ),
        ),
        ("`entropy`, `advantages`, `returns`", "token series, which the board ignores"),
        (
            "`loss_mask` and its other names, `attention_mask`",
            "0 for a token that was not trained, or padding: no values there",
        ),
        ("ids of tokens, logprobs in other shapes, `top_logprobs`", "as those of plain JSON lines"),
        (
            "derived",
            (
                "sample metrics `avg_log_ratio`, `sum_log_ratio`, `avg_kl`, `sum_kl`, `max_kl` (over response "
                "tokens that are not NaN), `reward_gap` = reward - ref_reward, `ref_response_chars`, "
                "`valid_reward_gap` = reward - valid_reward"
            ),
        ),
        ("any other number", "sample metric"),
        ("any other key", "extra"),
    )
    limits = (
        "A row without `step` is listed under the number in the file's name, else under step 0. The end token of a "
        "system prompt (`<endofsystem>`) is shown, not cut away."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        links = link_root or str(path.resolve())
        in_folder = [] if is_one_file(path) else files(str(path), links, SUFFIX)
        listed = [alone(path)] if is_one_file(path) else [entry.location for entry in in_folder]
        looks = [seen for _, seen in look_into(listed)]
        if not listed or not (forced or any(_fits(seen) for seen in looks)):
            return []
        number = f"{len(listed)} file{'s' if len(listed) > 1 else ''}"
        reason = f"{number} of JSON lines, rows have prompt, response, reward and step"
        name = stem(path.name) if is_one_file(path) else path.name
        part = RunPart(str(path))
        return [RunInfo(name=name, root=str(path), format=self.name, reason=reason, parts=(part,), link_root=links)]

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: a folder `eval_X` beside a run `X` or `train_X` is a part of that run."""
        return _with_evaluations(runs)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`. A part beside the run's own folder is named after its folder."""
        found = []
        for part in run.parts:
            folder = Path(part.path)
            if is_file(folder):
                found.append(Source(path=part.path, name=folder.name, root=links_of(run), split=part.split))
                continue
            prefix = "" if part.path == run.root else f"{folder.name}/"
            found += [
                Source(path=entry.path, name=prefix + entry.name, root=entry.root, split=part.split)
                for entry in files(part.path, _links(run, part.path), SUFFIX)
            ]
        return found

    series_keys = row_tokens.ARRAY_KEYS

    def may_cut(self, key: str) -> bool:
        """See `JsonlFormat`."""
        return key in row_tokens.ARRAY_KEYS or key not in _KNOWN

    def needs_length(self, key: str) -> bool:
        """See `JsonlFormat`."""
        return key not in row_tokens.ARRAY_KEYS

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `JsonlFormat`."""
        if record.keys().isdisjoint(("prompt", "response", "reward", "response_tokens")):
            raise Unusable("an object without prompt, response or reward is no sample")
        name = _file_stem(source.path)
        step = step_of(record.get("step"))
        prompt = _unpadded(fields.joined(record.get("prompt")))
        reward = fields.reward(record.get("reward"))
        arrays = _arrays(row_tokens.row_tokens(record))
        counted = arrays.placed.extent.response
        return SampleRow(
            split=source.split or "train",
            step=step if step is not None else (fields.step_in(name) or 0),
            group=fields.digest(prompt),
            index=f"{name}:{start}",
            ordinal=start,
            start=start,
            length=length,
            reward=reward.value,
            response_tokens=counted if counted is not None else _longest_array(record),
            discarded=fields.reason(record.get("discarded")) or "",
            metrics=_metrics(record, reward, arrays),
            tags=reward.tags,
            series=tokens.facts_of({name: one for name, one in arrays.series().items() if name not in tokens.MASKS}),
            prompt=prompt,
            response=_unpadded(fields.joined(record.get("response"), thoughts=True)),
            messages=fields.chat(record.get("response")),
        )

    def references(self, record: Record) -> References:
        """See `JsonlFormat`."""
        reference = record.get("ref_response")
        turns = fields.response_turns(_unpadded(reference) if isinstance(reference, str) else reference)
        return References(fields.as_text(record.get("ground_truth")), turns)

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `JsonlFormat`."""
        notes: list[str] = []
        for key in ("prompt", "response"):
            padding = fields.joined(record.get(key)).count(PAD_TOKEN)
            if padding:
                notes.append(f"{padding} pad token{'s' if padding > 1 else ''} {PAD_TOKEN} dropped from the {key}")
        if record.get("step") is None:
            notes.append(f"no step in the record: listed under step {row.step}")
        references = self.references(record)
        sample = Sample(
            key=row.key,
            row=row,
            locator=locator,
            turns=fields.prompt_turns(_shown(record, "prompt", row.prompt))
            + fields.response_turns(_shown(record, "response", row.response)),
            prompt_text=row.prompt,
            response_text=row.response,
            prompt_messages=fields.chat(record.get("prompt")),
            response_messages=fields.chat(record.get("response")),
            label=references.label,
            ref_turns=references.turns,
            ref_reward=fields.number(record.get("ref_reward")),
        )
        found = row_tokens.row_tokens(record)
        arrays = _arrays(found)
        unplaced = row_tokens.add_row_tokens(sample, found, arrays.placed)
        sample.series += [
            TokenSeries(name=name, values=tokens.packed(values), is_derived=True)
            for name, values in arrays.cut().items()
        ]
        sample.notes += notes
        sample.extra = _extra(record, found.keys.keys() - unplaced)
        return sample


@lru_cache(maxsize=1000)
def _file_stem(path: str) -> str:
    return stem(os.path.basename(path))


def _links(run: RunInfo, folder: str) -> str:
    """The root for links of a part: an evaluation lies beside the run's own folder, and is its own root."""
    links = links_of(run)
    return links if is_below(folder, links) else folder


def _with_evaluations(runs: Sequence[RunInfo]) -> list[RunInfo]:
    by_root = {run.root: run for run in runs}
    joined = dict(by_root)
    for root in by_root:
        folder = Path(root)
        if not folder.name.startswith("eval_"):
            continue
        subject = folder.name.removeprefix("eval_")
        host = next((str(h) for n in (subject, f"train_{subject}") if str(h := folder.with_name(n)) in by_root), None)
        if host is None:
            continue
        part = RunPart(root, f"eval/{subject}")
        reason = f"{joined[host].reason}; {folder.name} beside it is its evaluation"
        joined[host] = msgspec.structs.replace(joined[host], parts=(*joined[host].parts, part), reason=reason)
        del joined[root]
    return list(joined.values())


def _fits(seen: Peek) -> bool:
    return any(
        _is_row(record.keys(), seen.whole) and not isinstance(record.get("response"), dict) for record in seen.objects
    )


def _is_row(keys: Any, whole: bool) -> bool:
    if not whole:  # reward and step may follow the arrays
        return {"prompt", "response"} <= keys and not _TELLING.isdisjoint(keys)
    return keys >= _REQUIRED and not {"rollout_id", "sample_index"} <= keys and not _TELLING.isdisjoint(keys)


def _unpadded(value: str) -> str:
    return value.replace(PAD_TOKEN, "") if PAD_TOKEN in value else value


def _shown(record: Record, key: str, unpadded: str) -> object:
    """A text without its padding; any other value unchanged."""
    return unpadded if isinstance(record.get(key), str) else record.get(key)


class Arrays(NamedTuple):
    """The per-token arrays of a record, and series derived from two of them."""

    placed: row_tokens.AlignedRow
    shown: dict[str, tokens.Floats]
    """Those of the record, NaN where a mask is 0."""
    derived: dict[str, tokens.Floats]
    """`log_ratio` and `kl` of the response tokens, without padding."""

    def cut(self) -> dict[str, tokens.Floats]:
        """The derived ones over as many tokens as the others."""
        return {name: values[: self.placed.total] for name, values in self.derived.items()}

    def series(self) -> dict[str, tokens.Floats]:
        """All of them, of one length."""
        return {**self.shown, **self.cut()}


def _arrays(found: row_tokens.RowTokens) -> Arrays:
    if not found.arrays:
        return Arrays(row_tokens.placed_row(found, None, PAD_TOKEN), {}, {})
    placed = row_tokens.placed_row(found, None, PAD_TOKEN)
    shown = _under_masks(placed.series)
    derived: dict[str, tokens.Floats] = {}
    both = {"logprobs", "ref_logprobs"}
    if both <= found.arrays.keys():
        if placed.notes and len(found.arrays) > len(both):  # others that are shorter cut neither of the two
            pair = {name: values for name, values in found.arrays.items() if name in (*both, *row_tokens.MASKS)}
            alone = _under_masks(row_tokens.placed_row(found._replace(arrays=pair), None, PAD_TOKEN).series)
        else:
            alone = shown
        if both <= alone.keys():
            ratios = tokens.log_ratio(alone["logprobs"], alone["ref_logprobs"])
            derived = {"log_ratio": ratios, "kl": tokens.board_kl(ratios)}
    return Arrays(placed, shown, derived)


def _under_masks(series: Mapping[str, tokens.Floats]) -> dict[str, tokens.Floats]:
    shown = dict(series)
    for mask in (series[name] for name in tokens.MASKS if name in series):
        shown |= {name: tokens.under_mask(values, mask) for name, values in shown.items() if name not in tokens.MASKS}
    return shown


def _longest_array(record: Record) -> int | None:
    if record.keys().isdisjoint(OWN_ARRAYS):
        return None
    lengths = (tokens.length(tokens.inner(record.get(key))) for key in OWN_ARRAYS)
    return max((length for length in lengths if length is not None), default=None)


def _metrics(record: Record, reward: fields.Reward, arrays: Arrays) -> dict[str, float]:
    named = [*NUMBERS, *(key for key in record if key not in _KNOWN)]
    found = {key: value for key in named if (value := fields.number(record.get(key))) is not None}
    for gap, other in (("reward_gap", "ref_reward"), ("valid_reward_gap", "valid_reward")):
        if reward.value is not None and other in found:
            found[gap] = reward.value - found[other]
    if reference := _unpadded(fields.joined(record.get("ref_response"), thoughts=True)):
        found.setdefault("ref_response_chars", float(len(reference)))
    pieces = record.get("response_tokens")
    if isinstance(pieces, list):
        found["response_tokens_len"] = float(len(pieces))
    for name, values in arrays.derived.items():
        if both := tokens.mean_and_sum(values):
            found[f"avg_{name}"], found[f"sum_{name}"] = both
            if name == "kl":
                found["max_kl"] = float(np.nanmax(values))
    return found | reward.metrics


def _extra(record: Record, placed: AbstractSet[str]) -> dict[str, Any]:
    """Every member that appears nowhere else, including the board's keys with values of a wrong type."""
    rest = {key: value for key, value in record.items() if key not in placed and not _is_shown(key, value)}
    listed = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in rest.items()}
    return {key: fields.showable(value) for key, value in listed.items()}


def _is_shown(key: str, value: object) -> bool:
    if key not in _KNOWN:
        return fields.number(value) is not None
    if value is None:
        return True
    if key in NUMBERS:
        return fields.number(value) is not None
    if key == "reward":
        return fields.is_shown_reward(value)
    if key == "step":
        return fields.integer(value) is not None
    if key == "discarded":
        return fields.reason(value) is not None
    return key not in (*ARRAYS, "response_tokens")
