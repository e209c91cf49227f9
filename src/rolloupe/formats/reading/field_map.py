"""Reads the field map of `--map`: a person's mapping of roles to keys of a row, for the generic format.

It is on the command line (`--map prompt=request.text,reward=grade`) or in a file of TOML with a role on each line
(`prompt = "request.text"`). A key with dots leads into objects, by numbers into lists (`messages.0.content`), and by
names through a list of objects to the list of their members (`infos.r`). A literally equal key of the row, dots
included, takes precedence.

Several keys joined by plus signs make a list, and so several samples: `response=chosen+rejected,reward=1+0`, where a
number that is not a key is the value. One reward may also name the better of several responses
(`response=output_1+output_2,reward=preference`). Dialogues that begin alike (`Human: ... Assistant: ...`) have what
comes before their last common answer as their prompt.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rolloupe import text
from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.storage import open_named

Record = dict[str, Any]
Fields = tuple[tuple[str, str], ...]
ROLES: Final[Mapping[str, str]] = {
    "prompt": "prompt", "response": "response", "messages": "messages", "reward": "reward", "step": "step",
    "group": "group", "advantage": "advantage", "uid": "uid", "label": "ground_truth", "env": "env_name",
    "status": "status", "prompt_tokens": "prompt_length", "response_tokens": "response_length",
    "total_tokens": "total_length",
}  # fmt: skip
"""The roles, and the usual name of each in a row."""
MAX_BYTES = 2**20
MAX_LABEL_CHARS = 64
MISSING = object()
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_ANSWER = "\n\nAssistant:"
_SPEAKER = re.compile(r"(?:\A|\n\n)(Human|Assistant):")
_SPEAKERS = {"Human": "user", "Assistant": "assistant"}
"""The dialogues of hh-rlhf."""
_LABELS = re.compile(r"[0-9]{1,9}|[A-Za-z]+")


def read_fields(path: Path) -> Fields:
    """Read a field map. Raises `UnreadablePath` for a file that is not TOML, `BadQuery` for an invalid entry."""
    import tomllib

    try:
        with open_named(path) as file:
            entries = tomllib.loads(file.read(MAX_BYTES).decode())
    except OSError as error:
        raise UnreadablePath(f"{path} cannot be read: {error.strerror}. Next: name a TOML file") from None
    except ValueError as error:  # not valid UTF-8 either
        raise BadQuery(f'{path} is not TOML: {error}. Next: lines such as  prompt = "request.text"') from None
    return checked_fields(entries)


def fields_in(value: str) -> Fields:
    """Read the value of `--map`: pairs, or the name of a file. Raises `UnreadablePath` and `BadQuery`."""
    if (match := _PAIRS.fullmatch(value)) is None or os.path.exists(value):
        return read_fields(Path(value))
    return checked_fields(dict(pair.split("=", 1) for pair in match[0].split(",")))


def as_pairs(fields: Mapping[str, str]) -> str:
    """Return a field map for a command line, quoted; an empty text if its keys need a file."""
    pairs = ",".join(f"{role}={key}" for role, key in fields.items())
    return shlex.quote(pairs) if _PAIRS.fullmatch(pairs) and pairs.isprintable() and "'" not in pairs else ""


_PAIRS = re.compile(r"(?:[a-z_]+=[^,=]+)(?:,[a-z_]+=[^,=]+)*")


def checked_fields(entries: Mapping[str, Any]) -> Fields:
    """Return roles and keys as pairs. Raises `BadQuery` for an unknown role, or a key that is not a text."""
    for role, key in entries.items():
        if role not in ROLES:
            raise BadQuery(f"there is no role {role!r}; there are: {', '.join(ROLES)}")
        if not isinstance(key, str) or not key:
            raise BadQuery(f'the key of {role!r} must be a text, such as {role} = "request.text"')
    return tuple(sorted(entries.items()))


def renamed(record: Record, fields: Fields) -> Record:
    """Return the row with mapped fields under the usual names of their roles; a missing key leaves the role empty."""
    names = {ROLES[role] for role, _ in fields}
    mapped_keys = {name for _, key in fields for name in ([key] if key in record else key.split("+"))}
    mapped = {ROLES[role]: value for role, key in fields if (value := mapped_value(record, key)) is not MISSING}
    texts = next((key for role, key in fields if role in ("response", "messages")), "")
    if "reward" in mapped and "+" in texts and texts not in record and not isinstance(mapped["reward"], list):
        mapped["reward"] = choice(mapped["reward"], [label_of(key) for key in texts.split("+")])
    if "prompt" not in mapped and not record.get("prompt"):
        mapped |= _after_common_dialogue(mapped.get("response"))
    return {key: value for key, value in record.items() if key not in names and key not in mapped_keys} | mapped


def _after_common_dialogue(responses: object) -> Record:
    """The prompt that several dialogues of Human and Assistant share, and what follows it in each; else empty."""
    if type(responses) is not list or len(responses) < 2:
        return {}
    if not all(isinstance(response, str) and _SPEAKER.match(response) for response in responses):
        return {}
    stop = os.path.commonprefix(responses).rfind(_ANSWER)  # noqa: RUF071 - texts, not paths
    if stop < 0:
        return {}
    _, *parts = _SPEAKER.split(responses[0][:stop])
    turns = zip(parts[::2], parts[1::2], strict=True)
    prompt = [{"role": _SPEAKERS[speaker], "content": content.strip()} for speaker, content in turns]
    return {"prompt": prompt, "response": [response[stop + len(_ANSWER) :].strip() for response in responses]}


def has_mapped(record: Record, keys: Iterable[str]) -> bool:
    """Return whether a row has one of some keys of a field map."""
    return any(member(record, name) is not MISSING for key in keys for name in (key, *key.split("+")))


def mapped_value(record: Record, key: str) -> Any:
    """Return the value that a key of a field map names in a row, or `MISSING`; a list for keys joined by plus signs."""
    value = member(record, key)
    if value is not MISSING or "+" not in key:
        return value
    values = []
    for name in key.split("+"):
        value = member(record, name)
        values.append(float(name) if value is MISSING and _NUMBER.fullmatch(name) else value)
    return (
        MISSING if all(item is MISSING for item in values) else [None if item is MISSING else item for item in values]
    )


def choice(value: object, labels: Sequence[str]) -> list[float | None]:
    """Return the rewards of labelled responses, from a value that names the better one; else None for each."""
    if isinstance(value, str) and label_of(value) in labels:
        return [float(label == label_of(value)) for label in labels]
    numbers = [int(label) for label in labels if label.isdecimal()]
    if isinstance(value, int | float) and len(numbers) == len(labels) and min(numbers) <= value <= max(numbers):
        return [max(0.0, 1.0 - abs(value - number)) for number in numbers]
    return [None] * len(labels)


def label_of(name: str) -> str:
    """Return the last word or number of a key, such as `a` or `2`, which distinguishes it from similar keys."""
    labels: list[str] = _LABELS.findall(name[-MAX_LABEL_CHARS:])
    return labels[-1].lower() if labels else ""


def member(record: Record, key: str) -> Any:
    """Return the member of a row that a key with dots names, or `MISSING`; the module's docstring has the syntax."""
    if key in record:
        return record[key]
    value: Any = record
    for part in key.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif (
            isinstance(value, list)
            and any(type(item) is dict and part in item for item in value)
            and all(item is None or type(item) is dict for item in value)
            and not text.is_message(value[0])
        ):
            value = [item and item.get(part) for item in value]
        elif isinstance(value, list) and part.isascii() and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value
