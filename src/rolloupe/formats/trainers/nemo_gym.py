"""The rollouts of NeMo-Gym: lines with an object of OpenAI's Responses API, and whatever the environment adds.

Source: `rollout_collection.py` and real rollouts of its environments. Rollouts that failed lie in a file beside, one
line an attempt. Its `_materialized_inputs`, `_reward_profiling` and `_aggregate_metrics` hold no rollouts.
"""

from collections.abc import Sequence
from typing import Any

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import files, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look_into
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.trainers.response_items import ItemTokens, conversation, parted, tokens_of
from rolloupe.formats.trainers.token_rows import add_tokens, series_of
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Source
from rolloupe.storage import is_file
from rolloupe.tokenizer import find_tokenizer

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
        """See `RecordFormat`."""
        keys = record.keys()
        has_answer = not keys.isdisjoint((RESPONSE, TRAJECTORY))
        return FAILURE in keys or (PARAMS in keys and has_answer) or keys >= _WITHOUT_RESPONSE

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """See `RecordFormat`: a first line that is too long to be seen whole begins with its input."""
        return [
            record if seen.whole or stem(place.path).endswith(INPUTS) or PARAMS not in record else {FAILURE: ""}
            for place, seen in look_into(some)
            for record in seen.objects
        ]

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        """See `RecordFormat`."""
        return False

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        listed = [] if is_file(run.root) else files(run.root, links_of(run))
        fitting = {one.path for one in listed if any(map(self.fits, self.first_records([one.location])))}
        is_chosen = is_file(run.root) or bool(run.reading.format and not fitting)
        found = (one for one in super().sources(run) if is_chosen or one.path in fitting)
        return [
            Source(path=one.path, name=one.name, root=one.root, split=f"eval/{_environment(stem(one.name))}")
            for one in found
        ]

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: with its items as messages."""
        params, response = _inner(record, PARAMS), _inner(record, RESPONSE)
        items = response.get("output") if RESPONSE in record else _of_trajectory(record)
        answer = record.get("policy_response") if items is None else conversation(items)
        asked, answered = parted(conversation(params.get("input")), answer)
        return record | {
            _INPUT: asked, _OUTPUT: answered, _ITEMS: items, _STATUS: _status(response),
            _AGENT: _inner(record, "agent_ref").get("name"),
        }  # fmt: skip

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`."""
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
        """See `RecordFormat`."""
        if not self.fits(record):
            raise Unusable("a line without a response is no rollout")
        row = super().row(source, {"score": None, **record}, start, length)
        usage = _inner(_inner(record, RESPONSE), "usage")
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
        found = tokens_of(record.get(_ITEMS))
        if found.ids:
            sample.series, notes = series_of(_arrays(found), len(found.ids), found.first)
            sample.notes += [*notes, *found.notes]
            add_tokens(run, sample, found.ids, found.first, has_text=True)

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        """See `Format`."""
        found = None if is_file(run.root) else find_tokenizer(Location(run.root, links_of(run)))
        return [found] if found else []


_USAGE = ("input_tokens", "total_tokens")
_COUNTS = (*_USAGE, "output_tokens")


def _environment(name: str) -> str:
    """The name of the file for which a person asked NeMo-Gym: that of the failures follows from it."""
    return name.removesuffix(FAILED) or name


def _inner(record: Record, key: str) -> Record:
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def _status(response: Record) -> Any:
    """The status; of an incomplete response the reason."""
    return _inner(response, "incomplete_details").get("reason") or response.get("status")


def _of_trajectory(record: Record) -> list[Any] | None:
    """The items of the first invocation that has a conversation; others were spawned by it."""
    invocations = _inner(record, TRAJECTORY).get("invocations")
    found = (one.get("conversation") for one in invocations or () if isinstance(one, dict))
    return next((items for items in found if isinstance(items, list) and items), None)


def _rest(value: object, shown: str) -> Any:
    """What an object holds besides its turns and what it leaves open."""
    if not isinstance(value, dict):
        return fields.showable(value)
    return fields.showable({key: one for key, one in value.items() if key != shown and one not in (None, [], {})})


def _arrays(found: ItemTokens) -> dict[str, Any]:
    return {"logprobs": found.logprobs, "loss_mask": found.sampled}
