"""The usual names: the member of a row that is its prompt, its response, its score, its step, and so on."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.model import SampleRow, Status

PROMPTS = ("prompt", "input", "question", "query", "problem", "input_prompt", "instruction", "prompt_text")
RESPONSES = (
    "response", "completion", "output", "generation", "answer_text", "output_response", "response_text",
    "completion_text", "output_text", "generated_text", "model_output",
)  # fmt: skip
MESSAGES = ("messages",)
SCORES = fields.REWARDS
STEPS = ("step", "global_step", "global_steps", "iteration", "rollout_id", "training_step", "train_step")
_STEPS = tuple(name for name in STEPS if name != "rollout_id")
"""Those that are no other name either where their value is no integer: Agent Lightning's rollouts have a text."""
GROUPS = (
    "group", "group_id", "group_index", "group_idx", "prompt_id", "prompt_idx", "prompt_index", "example_id", "task_id",
)  # fmt: skip
LABELS = ("ground_truth", "gts", "label", "target", "golden_answer", "reference_answer", "answer")
ENVS = ("env_name", "env_id", "env", "env_class", "data_source", "dataset", "task")
STATUSES = ("status", "finish_reason", "stop_reason", "stop_condition")
COUNTS = {
    "prompt": ("prompt_length", "prompt_tokens", "prompt_len", "prompt_token_count", "input_tokens"),
    "response": (
        "response_length", "response_tokens", "response_len", "response_token_count", "completion_tokens",
        "completion_length", "output_tokens",
    ),
    "total": ("total_length", "total_tokens", "total_token_count", "seqlen", "seq_len"),
}  # fmt: skip
_TELLING = frozenset((*PROMPTS, *RESPONSES, *MESSAGES, *SCORES))
_LISTS = _TELLING | {"error"}
"""The keys whose value may be a meaningful list."""

Test = Callable[[object], bool]


class Roles(NamedTuple):
    """The key in each role, None for a role without one."""

    prompt: str | None
    response: str | None
    messages: str | None
    score: str | None
    step: str | None
    group: str | None
    label: str | None
    env: str | None
    status_key: str | None
    counts: dict[str, str]

    def described(self) -> str:
        """For a person: the keys that identify a sample."""
        keys = [key for key in (self.prompt, self.response, self.messages, self.score) if key]
        return f"rows have {' and '.join(filter(None, (', '.join(keys[:-1]), keys[-1])))}"

    def texts(self, record: Record) -> tuple[Any, Any]:
        """Prompt and response; of messages alone, the response begins at the first assistant message."""
        prompt = _unpacked(record.get(self.prompt)) if self.prompt else None
        if self.messages is None:
            return prompt, _unpacked(record.get(self.response)) if self.response else None
        messages = _unpacked(record[self.messages])
        if self.response:
            return (prompt if self.prompt else messages), _unpacked(record.get(self.response))
        first = text.answer_at(messages)
        return messages[:first], messages[first:]

    def tokens(self, record: Record, what: str) -> int | None:
        """A number of tokens."""
        key = self.counts.get(what)
        return fields.count(record[key]) if key else None

    def status(self, record: Record) -> tuple[Status, str]:
        """The status, from a word or from other keys that imply it."""
        if self.status_key:
            return fields.status(record[self.status_key])
        if record.get("error"):
            return "error", "error"
        if record.get("is_truncated") is True:
            return "truncated", "is_truncated"
        if record.get("is_completed") is True:
            return "completed", "is_completed"
        return "unknown", ""

    def rest(self, record: Record) -> tuple[dict[str, float], dict[str, str]]:
        """Sample metrics and tags: numbers and short texts without a role."""
        metrics: dict[str, float] = {}
        tags: dict[str, str] = {}
        keys_with_role = {*self[:9], *self.counts.values(), "uid", "advantage"}
        for key, value in record.items():
            if key in keys_with_role or (key == "discarded" and fields.reason(value) is not None):
                continue
            if (value_as_number := fields.number(value)) is not None:
                metrics[key] = value_as_number
            elif (short := fields.tag(value)) is not None:
                tags[key] = short
        inner = record.get("metrics")
        if isinstance(inner, dict):
            metrics = {k: n for k, v in inner.items() if (n := fields.number(v)) is not None} | metrics
        return metrics, tags

    def shows(self, key: str, value: object, row: SampleRow) -> bool:
        """Whether a member appears outside the extra fields."""
        if key in row.metrics or key in row.tags or key in (self.prompt, self.response, self.messages, self.label):
            return True
        if key == self.score:
            return isinstance(value, list) or fields.is_shown_reward(value)
        if key in (self.step, self.group, self.env, "uid"):
            return fields.name(value) is not None
        if key == "metrics":
            return isinstance(value, dict) and all(fields.number(member) is not None for member in value.values())
        if key == "advantage":
            return fields.number(value) is not None
        if key == "discarded":
            return fields.reason(value) is not None
        if key == "top_logprobs":
            return isinstance(value, list)
        return key == self.status_key or key in self.counts.values()


def roles_of(record: Record) -> Roles:
    """Find the key in each role: the first usual name whose value has the right type, if any."""
    prompt = _first(record, PROMPTS, _is_text) or _first(record, PROMPTS, _is_any)
    response = _first(record, RESPONSES, _is_response) or _first(record, RESPONSES, _is_any)
    messages = _first(record, MESSAGES, fields.is_messages)
    group = _first(record, GROUPS, _is_name)
    if group is None and isinstance(record.get("id"), int) and fields.is_messages(record.get("prompt")):
        group = "id"  # verifiers until September 2025: rollouts of one example share it
    return Roles(
        prompt=prompt,
        response=response,
        messages=messages,
        score=_first(record, SCORES, _is_score) or _first(record, SCORES, _may_be_score),
        step=_first(record, STEPS, lambda value: fields.integer(value) is not None) or _first(record, _STEPS, _is_any),
        group=group,
        label=_first(record, LABELS, _is_any),
        env=_first(record, ENVS, _is_name),
        status_key=_first(record, STATUSES, lambda value: isinstance(value, str)),
        counts={what: key for what, keys in COUNTS.items() if (key := _first(record, keys, _is_count))},
    )


def has_text(record: Record, roles: Roles) -> bool:
    """Whether a row has a text or messages in one of these roles."""
    return any(key and _is_text(record[key]) for key in (roles.prompt, roles.response, roles.messages))


def has_sample(record: Record, roles: Roles) -> bool:
    """Whether a row is certainly a sample: it has a text and a score."""
    return roles.score is not None and has_text(record, roles)


def is_aside(key: str) -> bool:
    """Whether a list under this key is only ever a token series or an extra field."""
    return key not in _LISTS


def may_be_sample(record: Record) -> bool:
    """Whether a row has any usual name of a text or a score, whatever the type of its value."""
    return not _TELLING.isdisjoint(record)


def _unpacked(value: object) -> Any:
    """The messages of a value that is a conversation, however it is stored; any other value unchanged."""
    return value if (messages := text.conversation(value)) is None else messages


def _first(record: Record, keys: tuple[str, ...], fits: Test) -> str | None:
    for key in keys:
        if key in record and fits(record[key]):
            return key
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) or fields.is_messages(value)


def _is_response(value: object) -> bool:
    return _is_text(value) or value == []


def _is_score(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, int | float) for entry in value)
    return isinstance(value, int | float) or (isinstance(value, dict) and bool(fields.reward(value).metrics))


def _may_be_score(value: object) -> bool:
    """Null, or a text in place of a number."""
    return value is None or (isinstance(value, str) and isinstance(fields.number_in(value), float))


def _is_any(value: object) -> bool:
    return value is not None


def _is_name(value: object) -> bool:
    return fields.name(value) is not None


def _is_count(value: object) -> bool:
    return fields.count(value) is not None
