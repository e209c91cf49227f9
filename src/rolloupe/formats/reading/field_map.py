"""The field map of `--map`: a person's mapping of roles to keys of a row, for the generic format.

It stands on the command line (`--map prompt=request.text,reward=grade`) or in a file of TOML with a role on each line
(`prompt = "request.text"`). A key with dots leads into objects, and by numbers into lists (`messages.0.content`); a key
of the row that equals it literally, dots included, takes precedence.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

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
"""A role, and the usual name that its field gets in a row."""

MAX_BYTES = 2**20
MISSING = object()


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
    """Read what follows `--map`: pairs, or the name of a file. Raises `UnreadablePath` and `BadQuery`."""
    if (match := _PAIRS.fullmatch(value)) is None or os.path.exists(value):
        return read_fields(Path(value))
    return checked_fields(dict(pair.split("=", 1) for pair in match[0].split(",")))


def as_pairs(fields: Mapping[str, str]) -> str:
    """Return a field map as it stands on a command line; empty for keys that need a file."""
    pairs = ",".join(f"{role}={key}" for role, key in fields.items())
    return shlex.quote(pairs) if _PAIRS.fullmatch(pairs) else ""


_PAIRS = re.compile(r"(?:[a-z_]+=[^,=]+)(?:,[a-z_]+=[^,=]+)*")


def checked_fields(entries: Mapping[str, Any]) -> Fields:
    """Roles and keys as pairs. Raises `BadQuery` for an unknown role, or a key that is not a text."""
    for role, key in entries.items():
        if role not in ROLES:
            raise BadQuery(f"there is no role {role!r}; there are: {', '.join(ROLES)}")
        if not isinstance(key, str) or not key:
            raise BadQuery(f'the key of {role!r} must be a text, such as {role} = "request.text"')
    return tuple(sorted(entries.items()))


def renamed(record: Record, fields: Fields) -> Record:
    """The row with mapped fields under the usual names of their roles; a missing key leaves the role empty."""
    names = {ROLES[role] for role, _ in fields}
    mapped_keys = {key for _, key in fields}
    found = {ROLES[role]: value for role, key in fields if (value := member(record, key)) is not MISSING}
    return {key: value for key, value in record.items() if key not in names and key not in mapped_keys} | found


def member(record: Record, key: str) -> Any:
    """Return the member of a row that a key names, `MISSING` without one: see the module."""
    if key in record:
        return record[key]
    value: Any = record
    for part in key.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value
