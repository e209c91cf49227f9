"""The samples in one record: itself, or several.

A record may hold the responses of a group, or a whole batch: lists that run in parallel (`completions`, `rewards`),
numbered members (`completion_0`, `reward_0`), a list of objects that are samples, or objects by their ids. All samples
share any other member. The texts and facts of a sample may also lie in objects of its record (`{"output": {"text":
..., "finish_reason": ...}}`).

A person's field map takes precedence: its keys lie in the record, or in objects below it, in a list or by their ids,
and the values that it names are not divided in any other way.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from rolloupe import text
from rolloupe.formats.generic.keys import (
    USUAL,
    Names,
    candidates,
    fold,
    has_answer,
    has_text,
    is_weak_response,
    keep_by_keys,
    roles_of,
    words_of,
)
from rolloupe.formats.generic.row_tokens import SERIES, token_members
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.field_map import Fields, has_mapped, renamed
from rolloupe.formats.reading.records import Record, Uncut, Unusable

MAX_SAMPLES = 100_000
"""Of one record."""
MAX_SHARED = 2**28
"""The most characters that the samples of one record may share, counted once for each sample."""
AS_LINES = "write a line for each sample, to a file that ends in .jsonl"
MEMBER_CHARS = 128
"""The cost, in characters, of a shared member in each sample, and of each member of a shared object or list."""
COPIED_CHARS = 4
"""The copies of each character in a shared list of messages: each sample makes its own text."""
MAX_DEPTH = 4
LOOKED = 8
"""The most objects of a list that are searched for the keys of a field map."""
_NUMBERED = re.compile(r"(?P<base>.*[^0-9_\-. ])[_\-. ]?(?P<number>[0-9]{1,5})")
_OBJECTS = frozenset(
    """meta metadata info extra extra_info extra_fields data sample example input inputs output outputs result results
    request response completion generation rollout record grade grading grader eval evaluation ids context item doc
    modeloutput trajectory episode training trainer state params payload task verdict judgement judgment metrics
    arguments""".replace("_", "").split()
)
"""Names of objects that may hold parts of a sample."""
_ANSWERS = frozenset("output outputs response completion generation result modeloutput".split())
"""Names of objects whose text is the response."""
TURNS = frozenset(("steps", "turns", "actions", "events", "toolcalls", "history"))
"""Lists of the steps of one sample, whose rewards are parts of its reward."""
_FACTS = frozenset("document documents doc docs passage passages retrieved judge judges judgments token tokens".split())
"""Words in the names of lists whose texts and scores are facts about one sample."""
_OF_ANSWERS = frozenset(("observation", "obs", "feedback", "result"))
"""Words in the names of texts with which a tool or an environment answers a turn."""
_TEXTS = ("text", "content", "message")
_NO_COLUMNS = frozenset(("tools", "functions", "prompt_ids", "prompt_token_ids", "prompt_tokens", "input_ids"))
"""Lists that belong to a prompt, however long they are."""
_LABELS = frozenset(USUAL["label"])
_NUMBERS = frozenset((int, float, bool))


def samples_of(record: Record, depth: int = MAX_DEPTH) -> list[Record]:
    """Return the samples of a record; the record itself if it is a sample or holds none. Raises `Unusable`."""
    if (found := _by_number(record)) or not _may_hold_several(record):
        return found or [record]
    own = lift(record, depth)
    score = roles_of(own).score
    if score and parsers.reward(own[score]).value is not None and has_own_answer(own):
        return [own]
    ways = (_by_group, _within, _in_list, _by_id) if depth else ()
    found = next((samples for way in ways if (samples := way(record, depth))), None)
    return found or [lift(sample, depth) for sample in in_columns(record) or [record]]


def has_own_answer(record: Record) -> bool:
    """Whether a record has one response: a text under a name that means nothing else, or messages that end in it."""
    roles = roles_of(record)
    if key := roles.response:
        is_usual = not is_weak_response(key) or (roles.prompt is not None and key.lower() not in _LABELS)
        return is_usual and bool(record[key]) and is_text(record[key])
    messages = text.conversation(record[roles.messages]) if roles.messages else None
    return messages is not None and text.answers_in(messages[-1:]) > 0


def _may_hold_several(record: Record) -> bool:
    """Whether some member can be divided: an object or a list, but not a list of numbers or a conversation."""
    for value in record.values():
        if type(value) is dict:
            return True
        if type(value) is list and value:
            first = value[0]
            is_message = type(first) is dict and "role" in first and "content" in first
            if type(first) not in _NUMBERS and not is_message:
                return True
    return False


def _by_number(record: Record) -> list[Record] | None:
    """The samples of `completion_0`, `reward_0`, `completion_1`, ..."""
    members = members_by_number(tuple(record))
    if not members:
        return None
    named = candidates(tuple(members))
    base = next(iter(named.of("response", "messages")), None)
    if base is None or not are_responses([record[key] for key in members[base].values()]):
        return None
    scores = [members[name] for name in named.of("score")]
    if len(members[base]) == 1 and not any(keys.keys() == members[base].keys() for keys in scores):
        return None
    numbers = sorted(members[base].keys() | (scores[0].keys() if scores else set()))
    columns = {name: keys for name, keys in members.items() if keys.keys() <= {*numbers}}
    cut = {key for keys in columns.values() for key in keys.values()}
    shared = {key: value for key, value in record.items() if key not in cut}
    lists = {name: [record.get(keys.get(number, "")) for number in numbers] for name, keys in columns.items()}
    return _divide(shared, lists, {})


@keep_by_keys
def members_by_number(keys: Names) -> dict[str, dict[int, str]]:
    """The keys that end in numbers, by their names without the numbers."""
    found: dict[str, dict[int, str]] = {}
    for key in keys:
        if key[-1:].isdigit() and (match := _NUMBERED.fullmatch(key[:100])):
            found.setdefault(match["base"], {})[int(match["number"])] = key
    known = set(keys)
    return {name: numbers for name, numbers in found.items() if name not in known}


def _in_list(record: Record, depth: int) -> list[Record] | None:
    """The samples in a list of objects, each with the members that all share."""
    key, listed = next(_lists_of_samples(record, depth), ("", []))
    if not listed:
        return None
    shared, lists = _beside_list(record, key, listed, depth)
    size = _size_of(shared)
    _check_size(size, len(listed))
    samples: list[Record] = []
    for number, own in enumerate(listed):
        of_lists = {name: other[number] for name, other in lists.items()}
        members = _with_response(own) if isinstance(own, dict) else {}  # an element without members becomes a problem
        samples += samples_of(shared | of_lists | members, depth - 1)
        _check_size(size, len(samples))
    return samples


def _beside_list(record: Record, key: str, listed: list[Any], depth: int) -> tuple[Record, dict[str, list[Any]]]:
    """The members of a record that the samples in a list share, and its lists with an element for each sample."""
    others = {name: other for name, other in record.items() if name != key}
    first = _with_response(lift(_fullest(listed), depth - 1))
    is_answered = has_answer(first, roles_of(first))
    answer = {"response": ""} if is_answered and "response" not in others else {}  # so that `answer` is a label
    others = lift(answer | others, depth - 1)
    roles = roles_of(others)
    messages = text.conversation(others[roles.messages]) if roles.messages else None
    if messages is not None and not roles.prompt and not text.answers_in(messages):  # these messages are the prompt
        others = {"prompt" if key == roles.messages else key: value for key, value in others.items()}
    others = {name: other for name, other in others.items() if name not in answer}
    lists = {name: other for name, other in others.items() if _is_column(name, other, len(listed))}
    left_out = {roles_of(others).score, *lists}
    if is_answered:
        above = candidates(tuple(others))
        left_out |= {*above.of("response", "messages")} - {*above.of("weak_response")}
    for name, other in others.items():
        if parsers.is_messages(other) and text.conversation(other) is None:  # other samples, or summaries of them
            left_out.add(name)
    return {name: other for name, other in others.items() if name not in left_out}, lists


def _lists_of_samples(record: Record, depth: int) -> Iterator[tuple[str, list[Any]]]:
    lists = ((key, value) for key, value in record.items() if type(value) is list and holds_objects(value))
    return ((key, value) for key, value in lists if _are_samples(record, key, value, depth))


def holds_objects(listed: list[Any]) -> bool:
    """Whether a list holds only null and objects that are not messages."""
    first = next((own for own in listed if own is not None), None)
    return isinstance(first, dict) and not text.is_message(first)


def _fullest(listed: Sequence[Any]) -> Record:
    """The largest of the first objects of a list: smaller ones may be samples that failed."""
    return max((own for own in listed[: 2 * LOOKED] if isinstance(own, dict)), key=len, default={})


def _are_samples(above: Record, key: str, listed: list[Any], depth: int) -> bool:
    """Whether the objects in a list are samples, not steps, alternatives or facts about the sample `above` them."""
    first = _fullest(listed)
    if not all(own is None or isinstance(own, dict) for own in listed):
        return False
    if _is_group(first) or (depth > 1 and any(_lists_of_samples(first, depth - 1))):
        return True
    is_weak = all(map(is_weak_response, candidates(tuple(first)).of("response", "messages")))
    if fold(key) in TURNS or (is_weak and (has_own_answer(above) or not _FACTS.isdisjoint(words_of(key)))):
        return False
    first = _with_response(lift(first, depth - 1))
    roles = roles_of(first)
    is_scored = roles.score is not None or _length(above.get(roles_of(above).score or "")) == len(listed)
    return is_scored and has_answer(first, roles)


def _is_group(record: Record) -> bool:
    """Whether an element of a list is itself a group, with responses and rewards."""
    try:
        samples = in_columns(record) or _by_number(record)
    except Unusable:
        return False
    return bool(samples and (len(samples) > 1 or roles_of(samples[0]).score is not None))


def _by_id(record: Record, depth: int) -> list[Record] | None:
    """The samples of an object whose members are samples."""
    by_id = {key: own for key, own in record.items() if own is None or type(own) is dict}
    others = {key: value for key, value in record.items() if key not in by_id}
    if len(others) > len(by_id) or any(type(value) is list for value in others.values()):
        return None
    if not by_id or (others and any(fold(key) in _OBJECTS for key in by_id)):
        return None
    _check_size(0, len(by_id))
    listed = [*by_id.values()]
    about = candidates(tuple(record))
    texts = {*about.of("response", "messages")}
    if texts - {*about.of("weak_response")} or (not others and texts):  # columns, as pandas writes them
        rows = (listed[0] or {}).keys()
        columns = {
            key: [[column[row]] if text.is_message(column[row]) else column[row] for row in rows]
            for key, column in by_id.items()
            if column is not None and column.keys() == rows
        }
        return in_columns(columns) if rows and len(columns) == len(record) else None
    members = _fullest(listed).keys()  # the members of one sample do not share these keys
    alike = sum(own is not None and not members.isdisjoint(own) for own in listed)
    if not holds_objects(listed) or 2 * alike <= len(listed) or not _are_samples({}, "", listed, depth):
        return None
    shared = check_shared(facts_beside(others, [own for own in listed[:LOOKED] if own]), len(by_id))
    return [
        sample if len(samples) == 1 else with_group(key, sample)
        for key, own in by_id.items()
        for samples in [samples_of({"id": key} | shared | _with_response(own or {}, _answer_names(own)), depth - 1)]
        for sample in samples
    ]


def _by_group(record: Record, depth: int) -> list[Record] | None:
    """The samples of an object whose members are lists of samples, such as a list for each task."""
    listed = [*record.values()]
    if len(listed) < 2 or not all(type(some) is list and (not some or holds_objects(some)) for some in listed):
        return None
    full = [some for some in listed if some]
    if not full or 2 * sum(_are_samples({}, "", some, depth) for some in full) <= len(full):  # others lack a score
        return None
    _check_size(0, sum(map(len, listed)))
    longest: list[Any] = max(listed, key=len) if len(listed) <= LOOKED else []
    return [
        sample
        for key, some in record.items()
        if not (len(some) < len(longest) and some and some[0] in longest)  # such as the failed, next to all
        for own in some
        for sample in samples_of(with_group(key, own), depth - 1)
    ]


def with_group(key: str, record: Record) -> Record:
    """A record with this group, or with this name before that of its own group. A prompt needs no group."""
    roles = roles_of(record)
    if roles.group:
        name = str(record[roles.group])
        return record if name == key else record | {"group": f"{key}/{name}"}
    return record if roles.prompt or roles.messages else {"group": key} | record


def _within(record: Record, depth: int) -> list[Record] | None:
    """The samples in several lists, or in the objects, of a record without a text; they share its facts."""
    lists = {key: value for key, value in record.items() if type(value) is list and holds_objects(value)}
    lists = {key: some for key, some in lists.items() if _are_samples({}, key, some, depth)}
    if len(lists) == 1 or has_text(record, roles_of(record)):
        return None
    parts = {"": _by_group(lists, depth) or []} if lists else {
        key: samples
        for key, value in record.items()
        if type(value) is dict and value and all(type(own) is dict or type(own) is list for own in value.values())
        if (samples := _by_group(value, depth - 1) or _within(value, depth - 1) or _by_id(value, depth - 1))
    } if depth > 1 else {}  # fmt: skip
    if not parts:
        return None
    shared = check_shared(facts_beside(record, []), sum(map(len, parts.values())))
    return [
        shared | (own if len(parts) == 1 or "group" not in own else own | {"group": f"{key}/{own['group']}"})
        for key, samples in parts.items()
        for own in samples
    ]


def facts_beside(record: Record, below: Sequence[Record], asked: Collection[str] = ()) -> Record:
    """The texts and numbers of a record, without scores, that the objects below it lack; and the members in `asked`."""
    scores = {*candidates(tuple(record)).of("score", "outcome")}
    theirs = {key for own in below[:LOOKED] for key in own}
    return {
        key: value
        for key, value in record.items()
        if key not in theirs
        and (key in asked or (key not in scores and (type(value) not in (dict, list) or is_text(value))))
    }


def check_shared(shared: Record, count: int) -> Record:
    """Return `shared`. Raises `Unusable` for too many samples, or if they share too much."""
    _check_size(_size_of(shared), count)
    return shared


def in_columns(record: Record) -> list[Record] | None:
    """The samples of lists that run in parallel."""
    named = candidates(tuple(record))
    names = named.of("response", "messages")
    response = next((key for key in names if are_responses(record[key])), None)
    if response is None:
        scores = {_length(record[key]) for key in named.of("score")} - {None}
        weak = (key for key in named.of("weak_response") if _length(record[key]) in scores)
        response = next((key for key in weak if are_responses(record[key])), None)
    if response is None:
        nested = next((key for key in names if _length(record[key]) == 1 and are_responses(record[key][0])), None)
        return None if nested is None else in_columns(record | {nested: record[nested][0]})
    count = len(record[response])
    prompts = (record[key] for key in named.of("prompt"))
    is_batch = response in named.of("messages") or any(are_responses(each) and len(each) == count for each in prompts)
    if not is_batch:
        score = roles_of(record).score
        logprobs = [value[0] for key, value in record.items() if "logprob" in key.lower() and _length(value) == count]
        has_one = score is not None and _length(record[score]) is None
        if has_one and any(parsers.number(value) is not None for value in logprobs):  # the tokens of one response
            return [record | {response: "".join(map(parsers.as_text, record[response]))}]
    lists = {
        key: value
        for key, value in record.items()
        if key == response or (_is_column(key, value, count) and (is_batch or key not in _LABELS))
    }
    inner = {key: columns for key, value in record.items() if (columns := _inner_columns(value, count))}
    shared = {key: value for key, value in record.items() if key not in lists and inner.get(key) != value}
    return _divide(shared, lists, inner)


def _inner_columns(value: object, count: int) -> dict[str, list[Any]]:
    """The lists of an object that have an element for each sample: all, or those with facts about samples."""
    if type(value) is not dict:
        return {}
    columns = {name: column for name, column in value.items() if _length(column) == count}
    if not columns or len(columns) == len(value):
        return columns
    named = candidates(tuple(value))
    facts = {*named.of("score", "advantage", "status_key", "outcome", "truncated")}
    facts.update(*named.counts.values())
    return {name: column for name, column in columns.items() if name in facts}


def _divide(shared: Record, lists: dict[str, list[Any]], inner: dict[str, dict[str, list[Any]]]) -> list[Record]:
    """A sample for each place in parallel lists. Raises `Unusable` if rewards cannot be assigned to samples."""
    count = len(next(iter(lists.values())))
    _check_size(_size_of(shared), count)
    score = candidates((*shared, *lists, *inner)).of("score")[:1]
    if count > 1 and score and shared.get(score[0]) is not None:
        listed = _length(shared[score[0]])
        what = "one reward" if listed is None else f"{listed} rewards"
        raise Unusable(f"{count} responses, but {what} (`{score[0]}`): nothing says which response has which")
    for key, usual in token_members(tuple(shared)) if count > 1 else ():
        listed = _length(shared[key]) if usual in SERIES else None
        if listed and listed > 1 and type(shared[key][0]) in _NUMBERS:
            raise Unusable(f"{count} responses, but {listed} numbers (`{key}`): nothing says which response has which")
    return [
        shared
        | {key: values[number] for key, values in lists.items()}
        | {
            key: shared.get(key, {}) | {name: values[number] for name, values in some.items()}
            for key, some in inner.items()
        }
        for number in range(count)
    ]


def _size_of(shared: Record) -> int:
    """The size of the members that each sample repeats, in characters."""
    size = MEMBER_CHARS * len(shared) + sum(len(value) for value in shared.values() if isinstance(value, str))
    inner = [value for value in shared.values() if isinstance(value, (dict, list))]
    while inner:
        value = inner.pop()
        own = value.values() if isinstance(value, dict) else value
        size += MEMBER_CHARS * len(own) + sum(COPIED_CHARS * len(member) for member in own if isinstance(member, str))
        inner += [member for member in own if isinstance(member, (dict, list))]
    return size


def _check_size(shared: int, count: int) -> None:
    """Raise `Unusable` if a record has too many samples, or if the samples share too much."""
    if count > MAX_SAMPLES:
        raise Unusable(f"{count:,} samples in one record; at most {MAX_SAMPLES:,} are read. Next: {AS_LINES}")
    if count > 1 and shared * count > MAX_SHARED:
        raise Unusable(f"{count:,} samples in one record, which share too much: not read. Next: {AS_LINES}")


def are_responses(value: object) -> bool:
    """Whether a value is a list of texts or of conversations, as the responses of a group are."""
    if type(value) is not list or not value:
        return False
    return all(entry is None or type(entry) in _NUMBERS or is_text(entry) for entry in value) and any(
        map(is_text, value)
    )


def is_text(value: object) -> bool:
    """Whether a value is a text or a conversation."""
    return isinstance(value, str) or (type(value) is list and text.conversation(value) is not None)


def _is_column(key: str, value: object, count: int) -> bool:
    """Whether a list has an element for each sample, and does not belong to a shared prompt."""
    return _length(value) == count and key not in _NO_COLUMNS and text.conversation(value) is None


def _length(value: object) -> int | None:
    """The length of a list. Raises `Uncut` for an array, whose values may be left out."""
    if type(value) is list:
        return len(value)
    if isinstance(value, np.ndarray):
        raise Uncut
    return None


def lift(record: Record, depth: int = MAX_DEPTH) -> Record:
    """A record, with the members of its objects that fill its open roles."""
    if not depth or not any(type(value) is dict and fold(key) in _OBJECTS for key, value in record.items()):
        return record
    lifted = dict(record)
    texts = candidates(tuple(record)).of("prompt", "response", "messages")
    for key, value in record.items():
        if type(value) is not dict or fold(key) not in _OBJECTS:
            continue
        if key in texts and text.conversation(value) is not None:  # a text, with facts beside it
            if not text.is_message(value) and "choices" not in value:
                beside = _lacking(lifted, value, first=3)
                lifted |= {"label" if is_weak_response(name) else name: member for name, member in beside.items()}
            continue
        inner = lift(value, depth - 1)
        if fold(key) in _ANSWERS:
            inner = _with_response(inner, _answer_names(inner))
        del lifted[key]
        taken = _lacking(lifted, inner)
        lifted |= taken
        if left := {name: member for name, member in inner.items() if name not in taken}:
            lifted[key] = left if len(left) < len(value) else value
    return lifted


def _lacking(record: Record, inner: Record, first: int = 0) -> Record:
    """The members of an object that fill open roles of its record, starting with role number `first`."""
    named = candidates(tuple(inner))
    members = token_members(tuple(inner))
    if not (members or named.by_role or named.counts):
        return {}
    own = roles_of(record)
    if own.messages:
        first = 3  # a conversation has its own prompt and response
    elif own.response and is_weak_response(own.response):
        own = own._replace(response=None)
    answered = {"response": ""} if own.response or own.messages else {}  # so that `answer` is a label
    theirs = roles_of(answered | inner)
    names = [key for mine, key in zip(own[first:9], theirs[first:9], strict=True) if key and mine is None]
    names = [key for key in names if key != theirs.response or not is_weak_response(key)]  # type: ignore[pyrefly:bad-argument-type]
    names += [key for what, key in theirs.counts.items() if what not in own.counts]
    if own.score is None and theirs.score is None:
        names += [key for key in named.of("outcome") if parsers.number(inner[key]) is not None][:1]
    if theirs.advantage and not own.advantage:
        names.append(theirs.advantage)
    names += [key for key, _ in members if isinstance(inner[key], (list, dict))]
    return {key: inner[key] for key in names if key in inner and key not in record}


def _answer_names(record: Record | None) -> Sequence[str]:
    """The likely names of the text in an answer's object, the likeliest first."""
    return (*_TEXTS, *(candidates(tuple(record)).of("weak_response") if record else ()))


def _with_response(record: Record, names: Sequence[str] = _TEXTS) -> Record:
    """The object of an answer, with its text under the name of the response."""
    roles = roles_of(record)
    if roles.messages or (roles.response and not is_weak_response(roles.response)):
        return record
    key = next((key for key in names if record.get(key)), None)
    return {"response" if name == key else name: value for name, value in record.items()} if key else record


MAX_NAMED_DEPTH = 6
"""The most levels of objects and lists above the keys of a field map."""


def samples_in(record: Record, named: Fields = ()) -> list[Record]:
    """Return the samples of a record, under a field map if given; the record itself if it is a sample or holds none.

    Raises `Unusable` if responses and rewards differ in number, or if the samples share too much.
    """
    if not named:
        return samples_of(record)
    by_role = dict(named)
    texts = [by_role[role] for role in ("response", "messages") if role in by_role]
    keys = texts or ([by_role["reward"]] if "reward" in by_role else [*by_role.values()])
    if has_mapped(record, keys):
        return _samples_under(renamed(record, named), named)
    found = _objects_with(record, keys, named, MAX_NAMED_DEPTH)
    check_shared({}, len(found))
    return [
        with_group(name, sample) if name else sample
        for name, own in found or [("", record)]
        for sample in _samples_under(renamed(own, named), named)
    ]


def _samples_under(record: Record, named: Fields) -> list[Record]:
    """The samples of a record: only the members that a person named divide it."""
    by_role = dict(named)
    key = next((role for role in ("response", "messages") if role in by_role and role in record), None)
    value: Any = record[key] if key else None
    score = roles_of(record).score
    has_score = score is not None and type(record[score]) is not list
    messages = _transcript(value)
    if key and messages and (has_score or not _are_samples({}, by_role[key], value, MAX_DEPTH)):
        return [lift({by_role[key].partition(".")[0]: value} | record | {key: messages})]  # with the turns as they are
    if are_responses(value):
        found = in_columns(record)
    elif key:
        found = [record] if is_text(value) or type(value) is not list else None
    else:
        is_one = has_score and "reward" in by_role and "reward" in record
        found = [record] if is_one and not _objects_with(record, [by_role["reward"]], named, MAX_DEPTH) else None
    return [lift(sample) for sample in found] if found else samples_of(record)


def _transcript(turns: Any) -> list[Record]:
    """The texts in a list of turns as messages: what the model wrote, and what it was answered; else empty."""
    messages: list[Record] = []
    for turn in filter(None, turns if type(turns) is list and holds_objects(turns) else ()):
        names = [*candidates(tuple(turn)).of("response", "weak_response"), *_TEXTS, "action"]
        own = next((key for key in names if turn.get(key) and isinstance(turn[key], str)), None)
        if own is None and turn.get("tool_calls"):
            messages.append({"role": "assistant", "tool_calls": turn["tool_calls"]})
        messages += [
            {"role": "assistant" if key == own else "tool", "content": value}
            for key, value in turn.items()
            if isinstance(value, str) and (key == own or not _OF_ANSWERS.isdisjoint(words_of(key)))
        ]
    return messages


def _objects_with(
    value: Any, keys: Collection[str], named: Fields, depth: int, *, in_list: bool = False
) -> list[tuple[str, Record]]:
    """The objects that have one of the keys, in a list, by ids or deeper, with the texts and numbers above them.

    If they come from several lists, each has the name of its list.
    """
    if in_list and isinstance(value, dict) and has_mapped(value, keys):
        return [("", value)]
    if isinstance(value, dict):
        is_whole = depth == MAX_NAMED_DEPTH  # the record may hold one sample by its id
        are_objects = (is_whole or len(value) > 1) and all(type(own) is dict for own in value.values())
        listed = [{"id": name} | own for name, own in value.items()] if are_objects else []
    else:
        listed = [own for own in value if type(own) is dict] if type(value) is list and holds_objects(value) else []
    having = sum(has_mapped(own, keys) for own in listed[:LOOKED])
    if having and (type(value) is list or having * 2 > len(listed[:LOOKED])):
        return [("", own) for own in listed]
    if not depth:
        return []
    if not isinstance(value, dict):
        return [inner for own in listed for inner in _objects_with(own, keys, named, depth - 1, in_list=True)]
    below = {key: _objects_with(own, keys, named, depth - 1, in_list=in_list) for key, own in value.items()}
    below = {key: found for key, found in below.items() if found}
    objects = [own for found in below.values() for _, own in found]
    asked = {name.partition(".")[0] for _, key in named for name in key.split("+")}
    shared = check_shared(facts_beside(value, objects, asked), len(objects))
    return [
        (name if len(below) == 1 else f"{key}/{name}".rstrip("/"), shared | own)
        for key, found in below.items()
        for name, own in found
    ]
