"""The rollouts of NeMo-Gym, and the batches that NeMo-RL logs: both as JSON lines.

A line of NeMo-Gym has an object of OpenAI's Responses API, and the environment's own members: see
`rollout_collection.py`, and real rollouts of its environments. Failed rollouts lie in a file beside it, one line for
each attempt. Its `_materialized_inputs`, `_reward_profiling` and `_aggregate_metrics` hold no rollouts.

NeMo-RL writes a file for each step, of training and of validation (`Logger.log_batched_dict_as_jsonl`). Every value but
`idx` is a list of one element; token arrays cover prompt and response, padded to the longest of the batch.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from rolloupe import text, tokens
from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.causes import cause_of
from rolloupe.formats.reading.documents import ByEnding
from rolloupe.formats.reading.files import alone, file_of, is_one_file, plain_name, stem
from rolloupe.formats.reading.jsonl import JsonlFormat, PromptRuns
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.peek import first_looks, look
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.value_parsers import as_dict
from rolloupe.formats.token_texts import add_tokens, ids_of, own_tokenizer, series_of, texts_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source
from rolloupe.storage import is_file

PARAMS, RESPONSE, TRAJECTORY = "responses_create_params", "response", "ng_trajectory"
GROUPS = ("_ng_task_index", "task_idx", "provenance_id")
LABELS = ("expected_answer", "ground_truth")
FAILURE = "_ng_failure_class"
FAILED = "_failures"
INPUTS = "_materialized_inputs"

_MADE = _INPUT, _OUTPUT, _STATUS, _AGENT, _ITEMS = (
    "rolloupe.input", "rolloupe.output", "rolloupe.status", "rolloupe.agent", "rolloupe.items",
)  # fmt: skip
"""Members that a prepared record has beside its own, whose names are arbitrary."""
_WITHOUT_RESPONSE = {"rollout_kind", "policy_response", "reward"}

_USAGE = ("input_tokens", "total_tokens")
_COUNTS = (*_USAGE, "output_tokens")


class ItemTokens(NamedTuple):
    """The tokens of a conversation: its last prompt and answer, the start of its first answer, the sampled tokens."""

    ids: list[int]
    first: int
    logprobs: np.ndarray
    sampled: np.ndarray
    notes: Sequence[str] = ()


NO_TOKENS = ItemTokens([], 0, np.empty(0), np.empty(0))


class NemoGym(NamedRows, JsonlFormat):
    """Rollouts of NeMo-Gym."""

    name = "nemo_gym"
    title = "NeMo-Gym"
    cuts_arrays = False

    def fits(self, record: Record) -> bool:
        keys = record.keys()
        has_answer = not keys.isdisjoint((RESPONSE, TRAJECTORY))
        return FAILURE in keys or (PARAMS in keys and has_answer) or keys >= _WITHOUT_RESPONSE

    def fits_any(self, locations: Sequence[Location]) -> bool:
        """See `RecordFormat`: a first line that is too long to be seen whole begins with its input."""
        return any(
            self.fits(record) or (not seen.whole and PARAMS in record and not stem(place.path).endswith(INPUTS))
            for place, seen in first_looks(locations).items()
            for record in seen.objects
        )

    def sources(self, run: RunInfo) -> list[Source]:
        found = super().sources(run)
        fitting = found if is_file(run.root) else [source for source in found if self.fits_any([source.location])]
        return fitting or (found if run.reading.format else [])

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        source = super().source(run, part, location)
        name = stem(source.name)
        return replace(source, step=None, split=f"eval/{name.removesuffix(FAILED) or name}")

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: with its items as messages."""
        params, response = as_dict(record.get(PARAMS)), as_dict(record.get(RESPONSE))
        items = response.get("output")
        if RESPONSE not in record:  # take the first invocation with a conversation, which spawned the others
            invocations = parsers.dicts(as_dict(record.get(TRAJECTORY)).get("invocations"))
            conversations = (invocation.get("conversation") for invocation in invocations)
            items = next((items for items in conversations if isinstance(items, list) and items), None)
        answer = record.get("policy_response") if items is None else conversation(items)
        asked, answered = parted(conversation(params.get("input")), answer)
        return record | {
            _INPUT: asked, _OUTPUT: answered, _ITEMS: items,
            _STATUS: as_dict(response.get("incomplete_details")).get("reason") or response.get("status"),
            _AGENT: as_dict(record.get("agent_ref")).get("name"),
        }  # fmt: skip

    def roles(self, record: Record) -> Roles:
        group = next((key for key in GROUPS if parsers.name(record.get(key)) is not None), None)
        label = next((key for key in LABELS if key in record), None)
        env = _AGENT if record.get(_AGENT) else None
        status = _STATUS if isinstance(record.get(_STATUS), str) else None
        score = "reward" if "reward" in record else None
        return Roles(_INPUT, _OUTPUT, score=score, group=group, label=label, env=env, status_key=status)

    def known_roles(self, record: Record) -> Roles:
        """See `NamedRows`: members of an environment that are named like a usage count are not token counts."""
        found = super().known_roles(record)
        return found._replace(counts={what: key for what, key in found.counts.items() if key not in _COUNTS})

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if not self.fits(record):
            raise Unusable("a line without a response is not a rollout")
        row = super().row(source, {"score": None, **record}, start, length)
        usage = as_dict(as_dict(record.get(RESPONSE)).get("usage"))
        for key in _USAGE:
            if (count := parsers.count(usage.get(key))) is not None:
                row.metrics[f"usage.{key}" if key in record else key] = float(count)
        counted = parsers.count(usage.get("output_tokens"))
        row.response_tokens = row.response_tokens if counted is None else counted
        row.uid = parsers.name(record.get("_ng_rollout_id")) or row.uid
        row.discarded = parsers.reason(record.get(FAILURE)) or ""
        row.tags.pop(FAILURE, None)
        is_masked, reason = record.get("mask_sample") is True, parsers.tag(record.get("failure_reason"))
        if is_masked or row.discarded or reason:
            cause = cause_of("error", row.discarded or reason or "")
            row.cause = "environment" if is_masked and cause == "unknown" else cause
        found = tokens_of(record.get(_ITEMS))
        if found.ids:
            row.prompt_tokens, row.total_tokens, row.has_series = found.first, len(found.ids), True
            row.response_tokens = len(found.ids) - found.first
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`: without repeating in its extra fields what its turns show."""
        sample = super().sample(record, row, locator)
        shown = {*_MADE, FAILURE, "" if RESPONSE in record else "policy_response", "agent_ref" if row.env else ""}
        sample.extra = {key: value for key, value in sample.extra.items() if key not in shown}
        for key, turns in ((PARAMS, "input"), (RESPONSE, "output")):
            rest = record.get(key)
            if isinstance(rest, dict):
                rest = {name: value for name, value in rest.items() if name != turns and value not in (None, [], {})}
            if rest:
                sample.extra[key] = parsers.showable(rest)
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        add_item_tokens(run, sample, record.get(_ITEMS))

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        return own_tokenizer(run)


def conversation(items: object) -> Any:
    """Return the items of a conversation: if lists repeat each other, the last and longest one."""
    if isinstance(items, list) and items and all(isinstance(item, list) for item in items):
        return items[-1]
    return items


def parted(asked: Any, answered: Any) -> tuple[Any, Any]:
    """Return prompt and response; without a prompt, the one at the beginning of the answer, if it is a conversation."""
    if asked or not parsers.is_messages(answered):
        return asked, answered
    first = text.answer_at(answered)
    first = first if first < len(answered) else 0
    return answered[:first], answered[first:]


def tokens_of(items: object) -> ItemTokens:
    """Return the tokens of items; empty if the ids of a later call do not begin with those of an earlier call."""
    calls = [
        (ids_of(item.get("prompt_token_ids")), ids_of(item["generation_token_ids"]), item.get("generation_log_probs"))
        for item in parsers.dicts(conversation(items))
        if tokens.length(item.get("generation_token_ids"))
    ]
    if not calls:
        return NO_TOKENS
    ids = [*calls[-1][0], *calls[-1][1]]
    logprobs, sampled = np.full(len(ids), np.nan), np.zeros(len(ids))
    unequal = 0
    for asked, answered, listed_logprobs in calls:
        values = tokens.read_floats(listed_logprobs)
        start, stop = len(asked), len(asked) + len(answered)
        if ids[:stop] != [*asked, *answered]:
            return NO_TOKENS
        sampled[start:stop] = 1
        if values is not None and len(values) == len(answered):
            logprobs[start:stop] = values
        elif values is not None:
            unequal += 1
    note = f"arrays {tokens.UNEQUAL}, not shown: {unequal} answers do not have a logprob for each token"
    return ItemTokens(ids, len(calls[0][0]), logprobs, sampled, [note] if unequal else ())


def add_item_tokens(run: RunInfo, sample: Sample, items: object) -> None:
    """Add the tokens of items to a sample, with their series."""
    found = tokens_of(items)
    if found.ids:
        arrays = {"logprobs": found.logprobs, "loss_mask": found.sampled}
        sample.series, notes = series_of(arrays, len(found.ids), found.first)
        sample.notes += [*notes, *found.notes]
        add_tokens(run, sample, found.ids, found.first, has_text=True)


IDS, MASK, LENGTH = "token_ids", "token_loss_mask", "input_lengths"
SERIES = {
    MASK: "loss_mask", "generation_logprobs": "logprobs", "prev_logprobs": "old_logprobs", "advantages": "advantages",
    "reference_policy_logprobs": "ref_logprobs", "values": "values", "returns": "returns",
}  # fmt: skip
"""Token arrays, and the common names of their series."""
SAMPLE_MASK = "sample_loss_mask"
TRAIN = "train_data_step"
"""The log of batches, whose lines may lack the ids if NeMo-RL keeps batches elsewhere."""
COLLECTION = "trajectory_collection.jsonl"
"""Rollouts of NeMo-Gym, which NeMo-RL collects if `is_trajectory_collection` is set."""

_TRAIN, _VAL = {IDS, MASK, "rewards"}, {"content", "rewards", "idx"}
_PLACED = frozenset((*SERIES, IDS, LENGTH, "content", "rewards", "idx", "agent_ref", SAMPLE_MASK, "filtered_rewards"))


class LoggedBatches(PromptRuns):
    """Logged batches of NeMo-RL."""

    name = "nemo_rl"
    title = "NeMo-RL"
    decodes_ids = True

    def fits(self, record: Record) -> bool:
        return record.keys() >= _TRAIN or (record.keys() >= _VAL and isinstance(record["content"], list))

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: without the lists of one element, and with the texts of ids if it has no others."""
        plain = _unlisted(record)
        ids, first = _tokens(plain)
        stored = _texts(plain.get("content"))
        texts = stored if any(stored) else texts_of(run, ids, first)
        return plain | {"_texts": texts, "_ids": ids, "_first": first, "_has_text": bool(stored[1])}

    def group_in(self, run: RunInfo, source: Source, data: bytes, start: int) -> str | None:  # noqa: ARG002
        """See `PromptRuns`: without the texts of ids."""
        plain = _unlisted(parse(data))
        ids, first = _tokens(plain)
        return _group(ids[:first], _texts(plain.get("content"))[0]) if "rewards" in plain else None

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if "rewards" not in record:
            raise Unusable("a line without rewards is not a sample")
        prompt, response = record["_texts"]
        ids, first = record["_ids"], record["_first"]
        filtered, agent = parsers.number(record.get("filtered_rewards")), record.get("agent_ref")
        has_ids = IDS in record
        is_train = has_ids or os.path.basename(source.name).startswith(TRAIN)
        return parsers.row_of(
            start,
            length,
            prompt,
            response,
            split="train" if is_train else "eval/validation",
            step=source.step or 0,
            group=_group(ids[:first], prompt),
            index=f"{stem(source.name)}:{start}",
            reward=parsers.number(record.get("rewards")),
            advantage=_first_advantage(record.get("advantages"), first),
            prompt_tokens=first if has_ids else None,
            response_tokens=len(ids) - first if has_ids else None,
            total_tokens=len(ids) if has_ids else None,
            env=parsers.name(agent.get("name") if isinstance(agent, dict) else agent) or "",
            discarded=SAMPLE_MASK if parsers.number(record.get(SAMPLE_MASK)) == 0 else "",
            metrics={} if filtered is None else {"filtered_rewards": filtered},
            has_series=bool(tokens.length(record.get(MASK))),
        )

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        prompt, response = record["_texts"]
        total, padded = len(record["_ids"]), tokens.length(record.get(IDS))
        arrays: dict[str, Any] = {}
        for key, name in SERIES.items():
            values: Any = record.get(key)
            if length := tokens.length(values):
                arrays[name] = values[:total] if length == padded else values
        sample = parsers.sample_of(row, locator, prompt, response)
        sample.series, sample.notes = series_of(arrays, total, record["_first"])
        rest = {key: value for key, value in record.items() if key not in _PLACED and not key.startswith("_")}
        sample.extra = {key: parsers.showable(value) for key, value in rest.items()}
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        add_tokens(run, sample, record["_ids"], record["_first"], has_text=record["_has_text"])

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        return own_tokenizer(run)


class NemoRL(ByEnding, LoggedBatches):
    """Logs of NeMo-RL: batches, and rollouts of NeMo-Gym collected without training."""

    def reader_of(self, source: Source) -> JsonlFormat:
        return _ROLLOUTS if _is_collection(source.path) else _BATCHES

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        place = alone(path) if is_one_file(path) else file_of(str(path), COLLECTION, links)
        is_collected = place is not None and _is_collection(place.path) and _ROLLOUTS.fits_any([place])
        return super().detect(path, forced=forced or is_collected, link_root=link_root)

    def sources(self, run: RunInfo) -> list[Source]:
        found = super().sources(run)
        listed = [
            source
            for source in found
            if is_file(run.root)
            or _is_collection(source.path)
            or not (seen := look(source.location).objects)
            or any(map(_BATCHES.fits, seen))
        ]
        return listed or found

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        source = super().source(run, part, location)
        return replace(source, step=None, split=f"eval/{stem(COLLECTION)}") if _is_collection(source.path) else source


_BATCHES, _ROLLOUTS = LoggedBatches(), NemoGym()


def _is_collection(path: str) -> bool:
    return plain_name(os.path.basename(path)) == COLLECTION


def _unlisted(record: Record) -> Record:
    """The values of a sample, without the lists of one element around them."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in record.items()}


def _group(ids: list[int], prompt: Any) -> str:
    return parsers.digest(repr(ids) if ids else parsers.joined(prompt))


def _tokens(plain: Record) -> tuple[list[int], int]:
    """The ids of a sample without its padding, and the place of the first trained token."""
    ids = ids_of(plain.get(IDS))
    length = parsers.count(plain.get(LENGTH))
    ids = ids[: len(ids) if length is None else length]
    mask = tokens.read_floats(plain.get(MASK))
    trained = mask is not None and mask[: len(ids)] > 0
    return ids, int(trained.argmax()) if isinstance(trained, np.ndarray) and trained.any() else len(ids)


def _texts(content: object) -> tuple[Any, Any]:
    """Prompt and response: in messages, the response begins at the first answer, in texts, after the first text."""
    if parsers.is_messages(content) and isinstance(content, list):
        first = text.answer_at(content)
        return content[:first], content[first:]
    if isinstance(content, list):
        return parsers.as_text(content[0]) if content else "", "".join(map(parsers.as_text, content[1:]))
    return "", parsers.as_text(content)


def _first_advantage(values: object, first: int) -> float | None:
    read = tokens.read_floats(values)
    if read is None:
        return parsers.number(values)
    return float(read[first]) if first < len(read) else None
