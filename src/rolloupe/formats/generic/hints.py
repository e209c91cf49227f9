"""Why rows hold no sample, and the field map that would read them."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rolloupe import text
from rolloupe.formats.generic.keys import has_sample, has_text, roles_of, words_of
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
    proposed = proposed_map(records)
    keys = Counter(key for record in records for key in record)
    listed = ", ".join(key if len(key) <= 60 else f"{key[:60]}…" for key in list(keys)[:SHOWN_KEYS])
    more = ", ..." if len(keys) > SHOWN_KEYS else ""
    missing = "no score" if has_text(first, roles) else "no text" if roles.score else "neither text nor score"
    what = f"its rows hold {missing} under a usual name (keys: {listed}{more})"
    if (pairs := as_pairs(proposed)) and ("reward" in proposed or roles.score):
        return f"{what}. Next: --map {pairs}, if these are the right keys"
    if has_text(first, roles) or "response" in proposed:
        pairs = f" --map {pairs}" if pairs else ""
        return f"{what}. Next: --format generic{pairs} shows the texts; --map reward=KEY names a score"
    return f"{what}. Next: name the keys with --map response=KEY,reward=KEY"


def maps_to_sample(records: Sequence[Record]) -> bool:
    """Whether a field map may make samples of the first rows of a file."""
    proposed = proposed_map(records)
    return "response" in proposed and ("reward" in proposed or roles_of(_rows_of(records)[0]).score is not None)


def proposed_map(records: Sequence[Record]) -> dict[str, str]:
    """Return the keys that may be the roles which rows lack, by role: those whose names and values fit best."""
    records = _rows_of(records)
    rows = [dict(_leaves(record)) for record in records]
    roles = roles_of(records[0])
    taken = {key for key in roles[:9] if key} | {*roles.counts.values()}
    found: dict[str, str] = {}
    texts = _by_path(rows, str)
    for role, known in (("response", roles.response or roles.messages), ("prompt", roles.prompt)):
        ranks = {
            path: _as_text(role, path, values) for path, values in texts.items() if not known and path not in taken
        }
        best = max(ranks, key=lambda path: ranks[path] or (-1, 0, 0), default=None)
        if best and (rank := ranks[best]) and (role == "response" or rank[0]):
            found[role] = best
            taken.add(best)
    if not roles.score:
        words = {
            path: {*words_of(path.rpartition(".")[2])} for path in _by_path(rows, int | float) if path not in taken
        }
        numbers = [path for path in words if _NO_SCORE.isdisjoint(words[path])]
        beside = [path for path in numbers if path.rpartition(".")[0] == found.get("response", "").rpartition(".")[0]]
        numbers = beside or numbers
        if numbers:
            found["reward"] = max(numbers, key=lambda path: (len(_OF_SCORE & words[path]), -len(path)))
    return found


def _leaves(record: Record, before: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The texts and numbers of a record by their paths."""
    for key, value in [*record.items()][:MAX_LEAVES]:
        if isinstance(value, dict) and depth:
            yield from _leaves(value, f"{before}{key}.", depth - 1)
        else:
            yield f"{before}{key}", value


def _rows_of(records: Sequence[Record]) -> Sequence[Record]:
    """The records that may be samples: those of a list within a document, else those with most members."""
    first = max(records, key=len)
    if not any(isinstance(value, str) and len(value) > MAX_PROSE for value in first.values()):
        for value in first.values():
            if fields.is_messages(value) and text.conversation(value) is None and isinstance(value, list):
                return value[:SHOWN_KEYS]
    return [record for record in records if len(record) * 2 >= len(first)]


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
