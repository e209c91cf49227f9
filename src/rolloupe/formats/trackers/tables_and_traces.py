"""Tables and traces that trainers log to trackers, as samples.

Tables: TRL's and ms-swift's `completions`, verl's `val/generations` (wide: a row a validation; elsewhere a row a
sample), OpenRLHF's `train/generated_samples`, NeMo-RL's `{agent}/full_result`, prime-rl's `samples`.

Traces: TRL's `log_rollout_traces`, verl's `ValidationGenerationsLogger`, and the keys of open pull requests of slime
(1935), AReaL (1360) and tunix (1534). verl's other traces (`verl/utils/rollout_trace.py`) are calls of functions, with
inputs and an output: each run of an agent loop is a sample, and calls within it (`generate`, `execute`) are parts of
that. The reward is most often computed after the trace.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rolloupe import text, tokens
from rolloupe.formats.generic.keys import ENVS, has_sample, roles_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.json_documents import unpacked
from rolloupe.formats.reading.records import Record
from rolloupe.formats.token_texts import ids_of
from rolloupe.formats.trackers.logged_samples import (
    LoggedSample,
    TokenIds,
    as_bytes,
    name_of,
    split_named,
    with_numbers,
)
from rolloupe.formats.trainers.nemo_gym import conversation, parted
from rolloupe.formats.trainers.trl import RewardFunctions

UNWEIGHTED = "the reward is the sum of its parts without weights: neither a total nor weights are known"
FULL_RESULT = "Full result"
"""The one column of NeMo-RL's tables: a rollout of NeMo-Gym as JSON."""

STEPS = ("step", "global_step", "gen_step")
"""Columns with the step; the last is that of ms-swift with Megatron."""
OF_VERL = {"step", "input", "output", "score"}
"""The columns of verl's validations, which are such also where their key is unknown."""

_WIDE = re.compile(r"(input|output|label|score)_([0-9]{1,9})")
_GROUPS = ("example_id", "task_idx", "group", "group_id", "group_index")
_TURN = re.compile(r"<(system|user|assistant|tool)>")

UNWEIGHTED_TRACE = "the reward is the sum of its parts without weights: the trace holds neither a total nor weights"
TRACE_GROUPS = ("group_id", "group_index", "trajectory_index")
TRACE_STEPS = ("step", "global_step")
ADVANTAGES = ("advantage", "advantages")
OF_VALIDATION = "val/"

_TAKEN = ("score", "global_step", "split", "mode", "validate", "sample_index")

RUN = ".run"
"""How the name of a call ends that is a whole sample."""


def samples_of_table(
    key: str, rows: Sequence[Any], step: int | None, split: str = "", known: RewardFunctions | None = None
) -> list[LoggedSample]:
    """Return the samples of a table that a trainer logged under a key; none of a table of anything else."""
    objects = [with_numbers(row) for row in rows if isinstance(row, dict)]
    if not objects or len(objects) != len(rows):
        return []
    split = split or split_named(key)
    first = objects[0]
    if first.keys() == OF_VERL:
        split = split or "eval/generations"
    if {"prompt", "completion"} <= first.keys():
        functions = known or RewardFunctions()
        names = functions.among(_number_columns(objects))
        return _grouped([_of_completion(row, names, step, split, functions) for row in objects])
    if {"input_1", "output_1"} <= first.keys():
        return [sample for row in objects for sample in _of_wide(row, step, split)]
    if first.keys() == {FULL_RESULT}:
        return [_of_gym(unpacked(row[FULL_RESULT]), step, split) for row in objects]
    if {"text", "reward"} <= first.keys():
        return [_of_text(row, step, split) for row in objects]
    if {"messages", "reward"} <= first.keys():
        return [_of_messages(row, step, split) for row in objects]
    roles = roles_of(first)
    if roles.prompt and roles.response and (roles.score or has_sample(first, roles)):
        own = {"prompt": roles.prompt, "response": roles.response, "reward": roles.score}
        return [_renamed(row, own, step, split) for row in objects]
    return []


def fingerprints(rows: Sequence[Any]) -> tuple[str, ...]:
    """Return a word for each row of a table, the same for equal rows."""
    return tuple(fields.digest(as_bytes(row).decode("utf-8", "replace")) for row in rows)


def _number_columns(rows: Sequence[Record]) -> list[str]:
    """The columns of numbers right behind the completion: reward functions, then what `log_extra` was given."""
    names = list(rows[0])
    found = []
    for name in names[names.index("completion") + 1 :]:
        values = [row.get(name) for row in rows]
        is_numeric = all(value is None or fields.number(value) is not None for value in values)
        if name in ("advantage", "advantages") or not is_numeric or any(isinstance(value, bool) for value in values):
            break
        found.append(name)
    return found


def _of_completion(
    row: Record, names: list[str], step: int | None, split: str, functions: RewardFunctions
) -> LoggedSample:
    parts = {name: number for name in names if (number := fields.number(row.get(name))) is not None}
    total = functions.total(names, parts)
    record = {name: value for name, value in row.items() if name not in (*names, "completion", "advantages")}
    record |= {f"reward.{name}": number for name, number in parts.items()}
    record |= {"response": row["completion"], "reward": total}
    if "advantages" in row:
        record["advantage"] = row["advantages"]
    notes = () if functions.fit(names) or len(names) < 2 or total is None else (UNWEIGHTED,)
    return LoggedSample(_with_step(record, step), split, "", notes)


def _grouped(samples: list[LoggedSample]) -> list[LoggedSample]:
    """Name the groups of prompts that a table asks again later: TRL repeats a prompt in consecutive rows."""
    times: Counter[str] = Counter()
    last = ""
    for sample in samples:
        name = fields.digest(fields.joined(sample.record.get("prompt")))
        times[name] += name != last
        last = name
        if times[name] > 1:
            sample.record["group"] = f"{name}-{times[name]}"
    return samples


def _of_wide(row: Record, step: int | None, split: str) -> list[LoggedSample]:
    """The samples of one validation of verl, which is a row with three columns for each; EasyR1 adds the label."""
    names = {"input": "prompt", "output": "response", "label": "label", "score": "reward"}
    found: dict[str, Record] = {}
    for name, value in row.items():
        if match := _WIDE.fullmatch(name):
            found.setdefault(match[2], {})[names[match[1]]] = value
    shared = {"step": row["step"]} if "step" in row else {}
    return [
        LoggedSample(_with_step(shared | record, step), split, number)
        for number, record in found.items()
        if record.get("response") is not None or record.get("prompt") is not None
    ]


def _of_text(row: Record, step: int | None, split: str) -> LoggedSample:
    """A sample whose prompt and response are one text, known by that text: each table has those of earlier ones too."""
    record = {name: value for name, value in row.items() if name != "text"}
    text = fields.as_text(row["text"])
    return LoggedSample(_with_step(record | {"response": text}, step), split, fields.digest(text))


def _of_gym(row: Any, step: int | None, split: str) -> LoggedSample:
    known = row if isinstance(row, dict) else {"response": row}
    answer = known.get("response")
    prompt, response = parted(
        conversation(fields.as_dict(known.get("responses_create_params")).get("input")),
        conversation(answer.get("output") if isinstance(answer, dict) else answer),
    )
    agent = fields.as_dict(known.get("agent_ref")).get("name")
    names = ("responses_create_params", "response", "agent_ref")
    record = {name: value for name, value in known.items() if name not in names}
    record |= {"prompt": prompt, "response": response, "reward": known.get("reward")}
    if name_of(agent):
        record["env_name"] = agent
    return LoggedSample(_with_step(record, step), split)


def _of_messages(row: Record, step: int | None, split: str) -> LoggedSample:
    """A sample whose conversation is in one column, as messages or as a text with roles between angle brackets."""
    messages = unpacked(row["messages"])
    if isinstance(messages, str):
        messages = _turns(messages)
    first = text.answer_at(messages) if isinstance(messages, list) else 0
    record = {name: value for name, value in row.items() if name not in ("messages", *_GROUPS)}
    texts = {"prompt": messages[:first], "response": messages[first:]} if isinstance(messages, list) else {}
    return _plain(record | (texts or {"response": messages}) | _group(row), step, split)


def _turns(text: str) -> Any:
    """The turns of a text with roles in angle brackets; a text without any unchanged."""
    if not _TURN.match(text):
        return text
    pieces = _TURN.split(text)[1:]
    return [{"role": role, "content": content} for role, content in zip(pieces[::2], pieces[1::2], strict=True)]


def _group(row: Record) -> Record:
    """The group of a row, which its environment counts."""
    group, env = (fields.first(row, names, fields.name) for names in (_GROUPS, ENVS))
    return {"group": f"{env}-{group}" if env else group} if group else {}


def _renamed(row: Record, own: dict[str, str | None], step: int | None, split: str) -> LoggedSample:
    record = {name: value for name, value in row.items() if name not in (*own.values(), *_GROUPS)}
    record |= {role: row.get(name) for role, name in own.items() if name}
    return _plain(record | _group(row), step, split)


def _plain(row: Record, step: int | None, split: str) -> LoggedSample:
    index = name_of(row.get("sample_index"))
    record = {name: value for name, value in row.items() if name != "sample_index"}
    return LoggedSample(_with_step(record, step), split, index)


def _with_step(record: Record, step: int | None) -> Record:
    """A record with the step of its own row, else that of its table."""
    own = fields.first(record, STEPS, fields.integer)
    others = {name: value for name, value in record.items() if name not in STEPS}
    return others | {"step": step if own is None else own}


def sample_of_trace(key: str, messages: Any, metadata: Any, step: int | None) -> LoggedSample | str | None:
    """Return the sample of a trace, None for one that is a part of another's, or why it cannot be read."""
    known = with_numbers(metadata) if isinstance(metadata, dict) else {}
    if is_call(known):
        return sample_of_call(known, step)
    if not (isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages)):
        return "a trace without messages is no sample"
    first = text.answer_at(messages)
    record: Record = known | {"prompt": messages[:first], "response": messages[first:]}
    own_step = fields.first(known, TRACE_STEPS, fields.integer)
    record["step"] = step if own_step is None else own_step
    reward, notes = _reward(known)
    record |= {"reward": reward} | _advantage(known)
    group = next((known.pop(name) for name in TRACE_GROUPS if name_of(known.get(name))), None)
    record = {name: value for name, value in record.items() if name not in (*TRACE_GROUPS, *_TAKEN)}
    if group is not None:
        record["group"] = group
    if key.startswith(OF_VALIDATION):
        record["prompt"], record["response"] = _only_text(messages[:first]), _only_text(messages[first:])
    return LoggedSample(record, _split(key, known), name_of(known.get("sample_index")), notes)


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
    return (sum(finite), (UNWEIGHTED_TRACE,)) if finite else (None, ())


def _advantage(known: Record) -> Record:
    """The advantage; of a list for each token the one value that all have."""
    value = next((known[name] for name in ADVANTAGES if name in known), None)
    values = tokens.read_floats(value)
    if values is not None and len(values) and (values == values[0]).all():
        value = float(values[0])
    return {"advantage": value} if fields.number(value) is not None else {}


def _only_text(messages: list[Any]) -> Any:
    """The text of a single message, as verl's prompts are whole texts with roles inside; else the messages."""
    content = messages[0].get("content") if len(messages) == 1 else None
    return content if isinstance(content, str) else messages


def is_call(known: Record) -> bool:
    """Tell whether the metadata of a trace are those of a call."""
    return isinstance(known.get("op"), str) and "sample_index" in known and "rollout_n" in known


def sample_of_call(known: Record, step: int | None) -> LoggedSample | None:
    """Return the sample of a call; None if it is a part of one."""
    if not str(known.get("op")).endswith(RUN):
        return None
    inputs, output = fields.as_dict(known.get("inputs")), fields.as_dict(known.get("output"))
    arguments = fields.as_dict(inputs.get("kwargs")) or inputs
    own_step = known.get("step")
    prompt = _first(arguments.get("raw_prompt"), output.get("prompt_text"))
    record: Record = {
        "prompt": prompt,
        "reward": fields.number(output.get("reward_score")),
        "step": step if own_step is None or own_step == -1 else own_step,
        "group": name_of(arguments.get("uid")) or _group_of_call(known, prompt),
        "status": known.get("status"),
    }
    record |= {name: value for name, value in _texts(arguments, output).items() if value is not None}
    record |= {name: known[name] for name in ("exception_type", "exception") if name in known}
    record |= {"num_turns": output["num_turns"]} if "num_turns" in output else {}
    record["metrics"] = fields.as_dict(output.get("metrics"))
    others = {"sampling_params": inputs.get("sampling_params"), "extra_fields": output.get("extra_fields")}
    record |= {name: value for name, value in others.items() if value}
    split = "eval/validation" if str(known.get("validate")).lower() == "true" else ""
    return LoggedSample(
        {name: value for name, value in record.items() if value is not None or name == "reward"},
        split, name_of(known.get("rollout_n")), (), _tokens(output),
    )  # fmt: skip


def _group_of_call(known: Record, prompt: Any) -> str | None:
    """Return a prompt's number within its data set and its hash, as a run may use several data sets."""
    parts = (name_of(known.get("sample_index")), fields.digest(fields.joined(prompt)) if prompt else "")
    return "-".join(part for part in parts if part) or None


def _texts(arguments: Record, output: Record) -> Record:
    truth = fields.as_dict(arguments.get("reward_model")).get("ground_truth")
    response = _first(output.get("response_text"))
    is_known = response is not None or not output.get("response_ids")
    found = {"ground_truth": truth, "data_source": arguments.get("data_source"), "uid": arguments.get("uid")}
    return found | ({"response": response or ""} if is_known else {})


def _tokens(output: Record) -> TokenIds | None:
    prompt, response = ids_of(output.get("prompt_ids")), ids_of(output.get("response_ids"))
    if not response:
        return None
    series = {"logprobs": output.get("response_logprobs"), "loss_mask": output.get("response_mask")}
    return TokenIds(prompt, response, {name: values for name, values in series.items() if values})


def _first(*values: Any) -> Any:
    return next((value for value in values if value), None)
