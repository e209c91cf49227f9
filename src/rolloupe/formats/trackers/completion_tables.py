"""Tables of samples that trainers log: rows of TRL, ms-swift, verl, OpenRLHF, NeMo-RL and prime-rl.

Sources: TRL's and ms-swift's `completions`, verl's `val/generations` (wide: a row a validation; elsewhere a row a
sample), OpenRLHF's `train/generated_samples`, NeMo-RL's `{agent}/full_result`, prime-rl's `samples`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rolloupe import text
from rolloupe.formats.completions.reward_parts import RewardFunctions
from rolloupe.formats.generic.keys import ENVS, has_sample, roles_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.json_documents import unpacked
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trackers.logged_samples import (
    LoggedSample,
    as_bytes,
    name_of,
    split_named,
    with_numbers,
)
from rolloupe.formats.trainers.response_items import conversation, parted

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
        return [one for row in objects for one in _of_wide(row, step, split)]
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
        if name in ("advantage", "advantages") or not is_numeric or any(isinstance(one, bool) for one in values):
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
    asked, answer = known.get("responses_create_params"), known.get("response")
    prompt, response = parted(
        conversation(asked.get("input") if isinstance(asked, dict) else None),
        conversation(answer.get("output") if isinstance(answer, dict) else answer),
    )
    agent = known.get("agent_ref")
    names = ("responses_create_params", "response", "agent_ref")
    record = {name: value for name, value in known.items() if name not in names}
    record |= {"prompt": prompt, "response": response, "reward": known.get("reward")}
    if isinstance(agent, dict) and name_of(agent.get("name")):
        record["env_name"] = agent["name"]
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
    group, env = (next((own for name in names if (own := name_of(row.get(name)))), "") for names in (_GROUPS, ENVS))
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
    own = next((number for name in STEPS if (number := fields.integer(record.get(name))) is not None), None)
    others = {name: value for name, value in record.items() if name not in STEPS}
    return others | {"step": step if own is None else own}
