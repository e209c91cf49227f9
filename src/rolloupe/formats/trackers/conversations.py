"""Traces of trackio: a conversation, and what the trainer said about it under names of its own.

Sources: TRL's `log_rollout_traces`, verl's `ValidationGenerationsLogger`, and the keys of open pull requests of slime
(1935), AReaL (1360) and tunix (1534). `verl_calls.py` reads verl's other traces, which are calls of functions.
"""

from typing import Any

from rolloupe import text, tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trackers.logged_samples import LoggedSample, name_of, split_named, with_numbers
from rolloupe.formats.trackers.verl_calls import is_call, sample_of_call

UNWEIGHTED = "the reward is the sum of its parts without weights: the trace holds neither a total nor weights"
GROUPS = ("group_id", "group_index", "trajectory_index")
STEPS = ("step", "global_step")
ADVANTAGES = ("advantage", "advantages")
OF_VALIDATION = "val/"


def sample_of_trace(key: str, messages: Any, metadata: Any, step: int | None) -> LoggedSample | str | None:
    """Return the sample of a trace, None for one that is a part of another's, or why it cannot be read."""
    known = with_numbers(metadata) if isinstance(metadata, dict) else {}
    if is_call(known):
        return sample_of_call(known, step)
    if not (isinstance(messages, list) and messages and all(isinstance(one, dict) for one in messages)):
        return "a trace without messages is no sample"
    first = text.answer_at(messages)
    record: Record = known | {"prompt": messages[:first], "response": messages[first:]}
    record["step"] = next((own for name in STEPS if (own := fields.integer(known.get(name))) is not None), step)
    reward, notes = _reward(known)
    record |= {"reward": reward} | _advantage(known)
    group = next((known.pop(name) for name in GROUPS if name_of(known.get(name))), None)
    record = {name: value for name, value in record.items() if name not in (*GROUPS, *_TAKEN)}
    if group is not None:
        record["group"] = group
    if key.startswith(OF_VALIDATION):
        record["prompt"], record["response"] = _plain(messages[:first]), _plain(messages[first:])
    return LoggedSample(record, _split(key, known), name_of(known.get("sample_index")), notes)


_TAKEN = ("score", "global_step", "split", "mode", "validate", "sample_index")


def _split(key: str, known: Record) -> str:
    named = next((known[name] for name in ("split", "mode") if isinstance(known.get(name), str)), "")
    return split_named(named) or ("eval/validation" if known.get("validate") is True else split_named(key))


def _reward(known: Record) -> tuple[Any, tuple[str, ...]]:
    """The reward of a trace; of parts alone their sum, and a note that says so."""
    for name in ("reward", "score"):
        if name in known:
            return known[name], ()
    parts = [fields.number(value) for name, value in known.items() if name.startswith("rewards/")]
    finite = [part for part in parts if part is not None and part == part]
    return (sum(finite), (UNWEIGHTED,)) if finite else (None, ())


def _advantage(known: Record) -> Record:
    """The advantage; of a list for each token the one value that all have."""
    value = next((known[name] for name in ADVANTAGES if name in known), None)
    values = tokens.read_floats(value)
    if values is not None and len(values) and (values == values[0]).all():
        value = float(values[0])
    return {"advantage": value} if fields.number(value) is not None else {}


def _plain(messages: list[Any]) -> Any:
    """The text of a single message, as verl's prompts are whole texts with roles inside; else the messages."""
    one = messages[0].get("content") if len(messages) == 1 else None
    return one if isinstance(one, str) else messages
