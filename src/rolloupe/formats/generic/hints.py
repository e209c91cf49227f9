"""Why rows hold no sample, and the field map that would read them."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rolloupe import text
from rolloupe.formats.generic.keys import has_sample, has_text, roles_of, words_of
from rolloupe.formats.generic.preferences import preference_map
from rolloupe.formats.generic.row_tokens import holds_ids
from rolloupe.formats.generic.shapes import samples_in
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.field_map import as_pairs
from rolloupe.formats.reading.records import Record, Unusable

MAX_LEAVES = 200
SHOWN_KEYS = 8
MAX_PROSE = 200
"""A document with a longer text of its own is a sample, not a list of them."""
_DEPTH = 3
_OF_TEXT = {
    "response": {*"response completion output generation answer reply solution prediction generated decoded result "
                 "assistant text content rollout said wrote a".split()},
    "prompt": {*"prompt question query problem instruction input task request user ask asked q in".split()},
}  # fmt: skip
_OF_SCORE = {*"reward score grade rating value points return ret correct acc accuracy pass passed success solved "
             "valid r mark verdict".split()}  # fmt: skip
_NO_TEXT = {*"id ids idx index hash uid uuid name path file url type model version date time timestamp split source "
            "status reason key role env dataset task".split()}  # fmt: skip
_NO_SCORE = {*"id ids idx index step steps iteration iter epoch group uid hash seed rank length len tokens token count "
             "num n time times timestamp ts seconds ms latency duration cost temperature lr loss kl entropy advantage "
             "version year size turns turn position offset results used k diff searches option".split()}  # fmt: skip
_space = re.compile(r"\s")


def why_unread(records: Sequence[Record]) -> str:
    """Say why the first rows of a file hold no sample, and what would read them."""
    try:
        first = samples_in(records[0])[0]
    except Unusable as error:
        return f"its rows cannot be read: {error}"
    roles = roles_of(first)
    if has_sample(first, roles):
        return "its rows hold a text and a score, but the file is not part of a run. Next: name the file itself"
    if roles.score and not has_text(first, roles) and holds_ids(first):
        return "its rows hold ids of tokens and no text. Next: --format generic shows the ids"
    rows = _rows_of(records)
    proposed, roles = proposed_map(records), roles_of(rows[0])
    keys = Counter(key for record in rows for key in record)
    listed = ", ".join(key if len(key) <= 60 else f"{key[:60]}…" for key in list(keys)[:SHOWN_KEYS])
    more = ", ..." if len(keys) > SHOWN_KEYS else ""
    has_response = bool(roles.response or roles.messages) or "response" in proposed or "messages" in proposed
    missing = "no score" if has_text(rows[0], roles) else "no text" if roles.score else "neither text nor score"
    what = f"its rows hold {missing} under a usual name (keys: {listed}{more})"
    if (pairs := as_pairs(proposed)) and has_response and ("reward" in proposed or roles.score):
        return f"{what}. Next: --map {pairs}, if these are the right keys"
    if has_text(rows[0], roles) or has_response:
        pairs = f" --map {pairs}" if pairs else ""
        return f"{what}. Next: --format generic{pairs} shows the texts; --map reward=KEY names a score"
    return f"{what}. Next: name the keys with --map response=KEY,reward=KEY"


def maps_to_text(records: Sequence[Record]) -> bool:
    """Whether a field map may make samples of the first rows of a file, or of several rows texts without a score."""
    proposed, rows = proposed_map(records), _rows_of(records)
    roles = roles_of(rows[0])
    if not ("response" in proposed or "messages" in proposed or (roles.response and "reward" in proposed)):
        return False
    return len(rows) > 1 or "reward" in proposed or roles.score is not None


def proposed_map(records: Sequence[Record]) -> dict[str, str]:
    """Return the keys that may be the roles which rows lack, by role: those whose names and values fit best."""
    records = _rows_of(records)
    rows = [dict(_leaves(record)) for record in records]
    roles = roles_of(records[0])
    if of_pair := preference_map(records, roles):
        return of_pair
    taken = {key for key in roles[:9] if key} | {*roles.counts.values()}
    found: dict[str, str] = {}
    texts = _by_path(rows, str)
    has_prompt = roles.prompt and any(record.get(roles.prompt) for record in records)
    for role, known in (("response", roles.response or roles.messages), ("prompt", has_prompt)):
        ranks = {
            path: _as_text(role, path, values) for path, values in texts.items() if not known and path not in taken
        }
        best = max(ranks, key=lambda path: ranks[path] or (-1, 0, 0), default=None)
        if best and (rank := ranks[best]) and (role == "response" or rank[0]):
            found[role] = best
            taken.add(best)
    if not (roles.response or roles.messages or found.get("response")) and (path := _list_of_answers(rows)):
        found["response"] = path
    if roles.prompt and (path := _chat_within(records[0][roles.prompt], roles.prompt)):
        found["prompt"] = path
    if not roles.score and (path := _as_score(rows, taken, found.get("response", ""))):
        found["reward"] = path
    return found


def _as_score(rows: Sequence[dict[str, Any]], taken: set[str], response: str) -> str:
    """The member that fits best as a score: a number, else a verdict; empty without one."""
    words = {path: {*words_of(path.rpartition(".")[2])} for path in _by_path(rows, int | float) if path not in taken}
    numbers = [path for path in words if _NO_SCORE.isdisjoint(words[path])]
    beside = [path for path in numbers if path.rpartition(".")[0] == response.rpartition(".")[0]]
    if numbers := beside or numbers:
        return max(numbers, key=lambda path: (len(_OF_SCORE & words[path]), -len(path)))
    verdicts = [path for path, values in _by_path(rows, str).items() if all(map(fields.is_verdict, values))]
    return verdicts[-1] if verdicts else ""  # of several, the later ones test more


def _list_of_answers(rows: Sequence[dict[str, Any]]) -> str:
    """The list under the name of a response, such as calls of functions turn by turn; empty without one."""
    lists = (path for path, value in rows[0].items() if isinstance(value, list) and value)
    return next((path for path in lists if _OF_TEXT["response"].intersection(words_of(path))), "")


def _chat_within(value: object, path: str, depth: int = _DEPTH) -> str:
    """The path of a conversation that lies within a prompt; empty without one."""
    if isinstance(value, str) or not depth or text.conversation(value) is not None:
        return ""
    members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, member in members:
        if isinstance(member, list) and text.conversation(member) is not None:
            return f"{path}.{key}"
        if found := _chat_within(member, f"{path}.{key}", depth - 1):
            return found
    return ""


def _leaves(record: Record, before: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The texts and numbers of a record by their paths."""
    for key, value in [*record.items()][:MAX_LEAVES]:
        if isinstance(value, dict) and depth:
            yield from _leaves(value, f"{before}{key}.", depth - 1)
        else:
            yield f"{before}{key}", value


def _rows_of(records: Sequence[Record]) -> Sequence[Record]:
    """The records that may be samples: those that lie within a document, else those like the first of most records."""
    kinds = Counter(frozenset(record) for record in records)
    first = max(records, key=lambda record: (kinds[frozenset(record)], len(record)))
    is_document = not any(isinstance(value, str) and len(value) > MAX_PROSE for value in first.values())
    alike = [record for record in records if len(first.keys() & record.keys()) * 2 >= len(first)]
    return (is_document and _rows_within(first, _DEPTH)) or alike


def _rows_within(record: Record, depth: int) -> Sequence[Record]:
    """The first of the objects in a list, or by ids, that lie in a document; none if it has no such."""
    members = [value for value in record.values() if isinstance(value, list | dict) and value]
    for value in members:
        listed = value if isinstance(value, list) else [*value.values()] if len(value) > 1 else []
        if fields.is_messages(listed) and text.conversation(listed) is None:
            inner = _rows_within(listed[0], depth - 1) if depth else ()
            if inner or _may_be_row(listed[0]):
                return inner or listed[:SHOWN_KEYS]
    deeper = (_rows_within(value, depth - 1) for value in members if depth and isinstance(value, dict))
    return next((rows for rows in deeper if rows), ())


def _may_be_row(record: Record) -> bool:
    """Whether an object in a document has a text, and a number or a verdict."""
    has_text = any(isinstance(one, str) for one in record.values())
    return has_text and any(isinstance(one, int | float) or fields.is_verdict(one) for one in record.values())


def _by_path(rows: Sequence[dict[str, Any]], kind: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        for path, value in row.items():
            if isinstance(value, kind) and not (isinstance(value, float) and math.isnan(value)):
                found.setdefault(path, []).append(value)
    return found


def _as_text(role: str, path: str, values: list[str]) -> tuple[int, int, int] | None:
    """How well a member fits as a text: by its name, whether it is prose, and its length; None if it cannot be one."""
    words = words_of(path.rpartition(".")[2])
    named = len(_OF_TEXT[role].intersection(words))
    length = sum(map(len, values)) // len(values)
    is_prose = any(_space.search(value.strip()) for value in values)
    if not _NO_TEXT.isdisjoint(words) or not (named or is_prose):
        return None
    return named, int(is_prose), length
