"""Rows of preferences: several responses to a prompt, and which of them is the better."""

from collections.abc import Sequence

from rolloupe import text
from rolloupe.formats.generic.keys import WEAK_RESPONSES, Roles, words_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.field_map import choice, label_of
from rolloupe.formats.reading.records import Record

_BETTER = frozenset(("chosen", "preferred", "better", "winning"))
_PAIR = _BETTER | {"rejected", "dispreferred", "worse", "losing"}
_OF_CHOICE = frozenset("preference preferred prefer winner better best choice chosen".split())
_OF_RESPONSE = frozenset("response completion output generation answer reply text content messages".split())
_OF_SCORE = frozenset("score scores reward rewards rating ratings".split())
_DEPTH = 4
"""Objects and lists within one another, below which the scores of responses may lie."""
_OF_PROMPT = frozenset("prompt question query problem instruction input task".split())


def preference_map(records: Sequence[Record], roles: Roles) -> dict[str, str]:
    """Return the field map of rows with several responses and what says which is the better; empty for other rows."""
    first = records[0]
    keys = _responses(first)
    has_score = roles.score is not None and not _are_scores(first[roles.score], len(keys))
    if has_score or (roles.response and roles.response not in WEAK_RESPONSES):
        return {}
    if len(keys) < 2 or any(not _is_answer(record.get(key)) for record in records for key in keys):
        return {}
    role = "response" if any(isinstance(first[key], str) for key in keys) else "messages"
    found = {role: "+".join(keys)}
    if reward := _reward_of_pair(records, keys):
        found["reward"] = reward
    if not (roles.prompt and first[roles.prompt]):
        named = [key for key in first if key not in keys and _is_prompt(first[key], key)]
        found |= {"prompt": named[0]} if named else {}
    return found


def _responses(record: Record) -> list[str]:
    """The keys of responses that are compared: `chosen` and `rejected`, or such as `output_1` and `output_2`."""
    alike: dict[tuple[str, ...], list[str]] = {}
    pair: list[str] = []
    for key in record:
        label = _label(key)
        if not label or "+" in key or "," in key or not _is_answer(record[key]):
            continue
        others = tuple(word for word in words_of(key) if word != label)
        if label in _PAIR and _OF_RESPONSE.issuperset(others):
            pair.append(key)
        elif len(label) < 3 and _OF_RESPONSE.intersection(others):
            alike.setdefault(others, []).append(key)
    return pair or next((keys for keys in alike.values() if len(keys) > 1), [])


def _label(key: str) -> str:
    """What tells a response from the others of a row: `chosen`, or its last word or number."""
    return next((word for word in words_of(key) if word in _PAIR), label_of(key))


def _reward_of_pair(records: Sequence[Record], keys: Sequence[str]) -> str:
    """What says which of some responses is the better: numbers of each, their list, a choice, or their own names."""
    first, labels = records[0], [_label(key) for key in keys]
    numbers = [key for key, value in first.items() if fields.number(value) is not None]
    of_each = [next((key for key in numbers if label in {*words_of(key)}), "") for label in labels]
    if all(of_each) and len({*of_each}) == len(keys):
        return "+".join(of_each)
    if labels[0] in _PAIR:
        return "+".join("1" if label in _BETTER else "0" for label in labels)
    for key in first:
        named = (one for record in records for one in choice(record.get(key), labels))
        if key not in keys and _OF_CHOICE.intersection(words_of(key)) and any(one is not None for one in named):
            return key
    return _path_of_scores(first, len(keys))


def _path_of_scores(value: object, count: int, path: str = "", depth: int = _DEPTH) -> str:
    """Where the first list of scores is that has one for each of some responses; empty without one."""
    members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, member in members:
        below = f"{path}.{key}" if path else str(key)
        if _are_scores(member, count) and _OF_SCORE.intersection(words_of(str(key))):
            return below
        if depth and (found := _path_of_scores(member, count, below, depth - 1)):
            return found
    return ""


def _are_scores(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(fields.number(one) is not None for one in value)


def _is_answer(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and text.conversation(value) is not None)


def _is_prompt(value: object, key: str) -> bool:
    return isinstance(value, str) and bool(value) and bool(_OF_PROMPT.intersection(words_of(key)))
