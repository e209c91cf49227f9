"""The rollouts of NeMo-Gym: lines with an object of OpenAI's Responses API, and whatever the environment adds.

Source: `rollout_collection.py` and real rollouts of its environments. Rollouts that failed lie in a file beside, one
line an attempt. Its `_materialized_inputs`, `_reward_profiling` and `_aggregate_metrics` hold no rollouts.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from rolloupe import text, tokens
from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.fields import as_dict
from rolloupe.formats.reading.files import files, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import first_looks
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.token_texts import add_tokens, ids_of, own_tokenizer, series_of
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Source
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
"""Members that a prepared record has beside its own, which may be called anything."""
_WITHOUT_RESPONSE = {"rollout_kind", "policy_response", "reward"}

_USAGE = ("input_tokens", "total_tokens")
_COUNTS = (*_USAGE, "output_tokens")


class ItemTokens(NamedTuple):
    """The tokens of a conversation: its last prompt and answer, where its first answer begins, and what was sampled."""

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
    recognises = (
        "Lines with `responses_create_params` and `response`, `ng_trajectory` or `_ng_failure_class`, or with "
        "`rollout_kind`, `policy_response` and `reward`."
    )
    layout = (
        "`{output}.jsonl`, and `{output}_failures.jsonl` beside it; a folder may hold those of several environments. "
        "[frameworks/nemo_gym.md](frameworks/nemo_gym.md) has the switches."
    )
    identity = (
        "step = 0; group = `_ng_task_index`, else `task_idx` or `provenance_id`, else a hash of the prompt; index = "
        "`{file}:{byte offset}`. Split `eval/{output}`, of the failures too."
    )
    reads = (
        (
            "`responses_create_params.input`, `response.output`",
            (
                "turns: messages, reasoning, calls with their outputs; of an output of lists the last, which holds the "
                "others; without an input the prompt is what the output begins with"
            ),
        ),
        ("`policy_response`", "the response of a rollout without a response object"),
        ("`ng_trajectory.invocations[].conversation`", "turns of a rollout without a response object"),
        (
            "`prompt_token_ids`, `generation_token_ids`, `generation_log_probs` of output items",
            "the tokens, the token series `logprobs` and `loss_mask`",
        ),
        ("`reward`", "the reward"),
        ("`response.status`, `response.incomplete_details.reason`", "status"),
        (
            "`response.usage`",
            (
                "sample metrics `input_tokens`, `total_tokens`, as `usage.NAME` where the environment has one of this "
                "name; `output_tokens` counts the response"
            ),
        ),
        ("`_ng_failure_class`", "why the rollout failed: it is discarded"),
        ("`agent_ref`", "environment"),
        ("`_ng_rollout_id`", "the sample's name"),
        ("`expected_answer`, `ground_truth`", "ground truth"),
        ("other numbers and short texts", "sample metrics and tags"),
        ("any other key, the rest of both objects, `ng_trajectory`", "extra"),
    )
    limits = (
        "An evaluation has no steps. Token ids are left out where those of a later call do not begin with those of an "
        "earlier one. Rollouts that were killed are in no file."
    )
    series_in_samples = True

    def fits(self, record: Record) -> bool:
        keys = record.keys()
        has_answer = not keys.isdisjoint((RESPONSE, TRAJECTORY))
        return FAILURE in keys or (PARAMS in keys and has_answer) or keys >= _WITHOUT_RESPONSE

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """See `RecordFormat`: a first line that is too long to be seen whole begins with its input."""
        return [
            record if seen.whole or stem(place.path).endswith(INPUTS) or PARAMS not in record else {FAILURE: ""}
            for place, seen in first_looks(some).items()
            for record in seen.objects
        ]

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        return False

    def sources(self, run: RunInfo) -> list[Source]:
        listed = [] if is_file(run.root) else files(run.root, links_of(run))
        fitting = {entry.path for entry in listed if any(map(self.fits, self.first_records([entry.location])))}
        is_chosen = is_file(run.root) or bool(run.reading.format and not fitting)
        found = (source for source in super().sources(run) if is_chosen or source.path in fitting)
        return [replace(source, step=None, split=f"eval/{_environment(stem(source.name))}") for source in found]

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: with its items as messages."""
        params, response = as_dict(record.get(PARAMS)), as_dict(record.get(RESPONSE))
        items = response.get("output") if RESPONSE in record else _of_trajectory(record)
        answer = record.get("policy_response") if items is None else conversation(items)
        asked, answered = parted(conversation(params.get("input")), answer)
        return record | {
            _INPUT: asked, _OUTPUT: answered, _ITEMS: items, _STATUS: _status(response),
            _AGENT: as_dict(record.get("agent_ref")).get("name"),
        }  # fmt: skip

    def roles(self, record: Record) -> Roles:
        group = next((key for key in GROUPS if fields.name(record.get(key)) is not None), None)
        return Roles(
            prompt=_INPUT, response=_OUTPUT, messages=None, score="reward" if "reward" in record else None, step=None,
            group=group, label=next((key for key in LABELS if key in record), None),
            env=_AGENT if record.get(_AGENT) else None,
            status_key=_STATUS if isinstance(record.get(_STATUS), str) else None, counts={},
        )  # fmt: skip

    def known_roles(self, record: Record) -> Roles:
        """See `NamedRows`: what an environment calls like a count of the usage is its own."""
        found = super().known_roles(record)
        return found._replace(counts={what: key for what, key in found.counts.items() if key not in _COUNTS})

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if not self.fits(record):
            raise Unusable("a line without a response is no rollout")
        row = super().row(source, {"score": None, **record}, start, length)
        usage = as_dict(as_dict(record.get(RESPONSE)).get("usage"))
        row.metrics |= {
            f"usage.{key}" if key in record else key: float(n)
            for key in _USAGE
            if (n := fields.count(usage.get(key))) is not None
        }
        counted = fields.count(usage.get("output_tokens"))
        row.response_tokens = row.response_tokens if counted is None else counted
        row.uid = fields.name(record.get("_ng_rollout_id")) or row.uid
        row.discarded = fields.reason(record.get(FAILURE)) or ""
        row.tags.pop(FAILURE, None)
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
        sample.extra |= {
            key: rest
            for key, inner in ((PARAMS, "input"), (RESPONSE, "output"))
            if (rest := _rest(record.get(key), inner))
        }
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """See `RecordFormat`: with its tokens."""
        add_item_tokens(run, sample, record.get(_ITEMS))

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        return own_tokenizer(run)


def _environment(name: str) -> str:
    """The name of the file for which a person asked NeMo-Gym: that of the failures follows from it."""
    return name.removesuffix(FAILED) or name


def _status(response: Record) -> Any:
    """The status; of an incomplete response the reason."""
    return as_dict(response.get("incomplete_details")).get("reason") or response.get("status")


def _of_trajectory(record: Record) -> list[Any] | None:
    """The items of the first invocation that has a conversation; others were spawned by it."""
    invocations = as_dict(record.get(TRAJECTORY)).get("invocations")
    found = (invocation.get("conversation") for invocation in fields.dicts(invocations))
    return next((items for items in found if isinstance(items, list) and items), None)


def _rest(value: object, shown: str) -> Any:
    """Return the members of an object that are not empty, without its turns."""
    if not isinstance(value, dict):
        return fields.showable(value)
    return fields.showable({key: inner for key, inner in value.items() if key != shown and inner not in (None, [], {})})


def conversation(items: object) -> Any:
    """Return the items of a conversation; a text, or anything else that is no list, unchanged."""
    return _last(items) if isinstance(items, list) else items


def parted(asked: Any, answered: Any) -> tuple[Any, Any]:
    """Return prompt and response; without a prompt, the one with which the answer begins, if it is a conversation."""
    if asked or not fields.is_messages(answered):
        return asked, answered
    first = text.answer_at(answered)
    first = first if first < len(answered) else 0
    return answered[:first], answered[first:]


def tokens_of(items: object) -> ItemTokens:
    """Return the tokens of items; none if the ids of a later call do not begin with those of an earlier one."""
    listed = [item for item in _last(items) if isinstance(item, dict)] if isinstance(items, list) else []
    calls = [_ids(item) for item in listed if tokens.length(item.get("generation_token_ids"))]
    if not calls:
        return NO_TOKENS
    ids = [*calls[-1][0], *calls[-1][1]]
    logprobs, sampled = np.full(len(ids), np.nan), np.zeros(len(ids))
    unequal = 0
    for asked, answered, values in calls:
        start, stop = len(asked), len(asked) + len(answered)
        if ids[:stop] != [*asked, *answered]:
            return NO_TOKENS
        sampled[start:stop] = 1
        if values is not None and len(values) == len(answered):
            logprobs[start:stop] = values
        elif values is not None:
            unequal += 1
    note = f"arrays {tokens.UNEQUAL}, not shown: the logprobs of {unequal} answers are not as many as their tokens"
    return ItemTokens(ids, len(calls[0][0]), logprobs, sampled, [note] if unequal else ())


def add_item_tokens(run: RunInfo, sample: Sample, items: object) -> None:
    """Add the tokens of items to a sample, with their series."""
    found = tokens_of(items)
    if found.ids:
        arrays = {"logprobs": found.logprobs, "loss_mask": found.sampled}
        sample.series, notes = series_of(arrays, len(found.ids), found.first)
        sample.notes += [*notes, *found.notes]
        add_tokens(run, sample, found.ids, found.first, has_text=True)


def _last(items: list[Any]) -> list[Any]:
    """The longest list of lists that repeat each other: the last."""
    return items[-1] if items and all(isinstance(item, list) for item in items) else items


def _ids(item: Record) -> tuple[list[int], list[int], np.ndarray | None]:
    asked, answered = ids_of(item.get("prompt_token_ids")), ids_of(item.get("generation_token_ids"))
    return asked, answered, tokens.read_floats(item.get("generation_log_probs"))
