"""Hints for a person: the reason why rows hold no sample, the field map that reads them, and keys that may name groups.

A field map is tried on the first rows before it is proposed. Keys of groups are found by examining some samples.
"""

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.formats.generic.keys import (
    MAX_NAME_CHARS,
    NO_SCORES,
    NO_TEXT,
    USUAL,
    Roles,
    candidates,
    fold,
    has_sample,
    has_text,
    roles_of,
    words_of,
)
from rolloupe.formats.generic.row_tokens import holds_ids
from rolloupe.formats.generic.shapes import TURNS, has_own_answer, is_text, samples_in
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.field_map import Fields, as_pairs, choice, label_of
from rolloupe.formats.reading.field_map import member as member_at
from rolloupe.formats.reading.files import plain_name
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.model import SampleRow

MAX_LEAVES = 200
SHOWN_KEYS = 8
MAX_PROSE = 200
"""A document with a longer text of its own is a sample, not a list of them."""
_DEPTH = 3
_OF_TEXT = {
    "response": {*"response completion output generation answer reply solution prediction predicted generated decoded "
                 "result assistant text content rollout said wrote a".split()},
    "prompt": {*"prompt question query problem instruction input task request user ask asked q in".split()},
}  # fmt: skip
_OF_LISTS = _OF_TEXT["response"] | {"turns", "steps", "rounds", "trajectory", "history"}
_OF_SCORE = {*"reward score grade rating value points return ret correct acc accuracy pass passed success solved "
             "resolved valid r mark verdict right true ok win won match f1 em judge judged judgement judgment "
             "outcome".split()}  # fmt: skip
"""Words in the names of scores. Other numbers may be counters or settings: a person chooses among them."""
_NO_VERDICTS = {"yes", "no", "true", "false", "timeout"}
"""Words that may be an answer or a message as well as a verdict."""
_space = re.compile(r"\s")


def why_unread(records: Sequence[Record]) -> str:
    """Say why the first rows of a file hold no sample, and suggest a field map that was tried on them."""
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
    roles = roles_of(rows[0])
    missing = "no text" if roles.score else "no score" if has_text(rows[0], roles) else "neither text nor score"
    where = _of_other_types(rows[0]) or " under a usual name"
    keys = _shown(dict.fromkeys(chain.from_iterable(rows)))
    return f"its rows hold {missing}{where} (keys: {keys}). Next: {_next_step(records, rows)}"


def why_no_response(records: Sequence[Record], fields: Fields) -> str:
    """Say which key may hold the response in the first rows of a file; empty if they have one, or no key seems to."""
    if not records or _reads(records, dict(fields), scored=False):
        return ""
    proposed = proposed_map(records)
    key = proposed.get("response") or proposed.get("messages")
    if key is None or not _reads(records, proposed, scored=False):
        return ""
    named = as_pairs(dict(fields) | proposed) or "FILE, a file of TOML"
    return f"no text of a response was found in the first rows; {text.quoted(key)} may hold it. Next: --map {named}"


def _next_step(records: Sequence[Record], rows: Sequence[Record]) -> str:
    """Name the options that read the rows in these records."""
    proposed = proposed_map(records)
    named = as_pairs(proposed)
    shows_text = _reads(records, proposed, scored=False)
    leaves = _by_path([dict(_leaves(row)) for row in rows], int | float)
    numbers = [path for path, values in leaves.items() if not isinstance(values[0], bool)]
    if proposed and not named and shows_text:
        roles_shown = " and ".join(f"{role}, which may be {text.quoted(key)}" for role, key in proposed.items())
        return (
            f'--map FILE, a TOML file with lines such as reward = "grade.total", for {roles_shown}; no command line '
            "takes these names"
        )
    if named and _reads(records, proposed, scored=True):
        return f"--map {named}, if these are the right keys{_alternatives(rows[0], proposed)}"
    if shows_text:
        shown = f"--format generic --map {named}" if named else "--format generic"
        reward = f"--map {named},reward=KEY" if named else "--map reward=KEY"
        chosen = f"; {reward} names a score, if one of its numbers is one ({_shown(numbers)})" if numbers else ""
        return f"{shown} shows the texts{chosen}"
    among = f"; its numbers are {_shown(numbers)}" if numbers else ""
    return f"--map response=KEY,reward=KEY with the keys of a text and of its score{among}"


def _shown(keys: Iterable[str]) -> str:
    names = [*keys]
    return ", ".join(map(text.named, names[:SHOWN_KEYS])) + (", ..." if len(names) > SHOWN_KEYS else "")


def _of_other_types(row: Record) -> str:
    """A remark on usual names whose values have an unusual type, or an empty text."""
    usual = candidates(tuple(row))
    odd = [f"{text.quoted(key)} is an object" for key in usual.of("response")[:1] if isinstance(row[key], dict)]
    odd += [f"{text.quoted(key)} is a text" for key in usual.of("score")[:1] if isinstance(row[key], str)]
    return f", as {' and '.join(odd)}" if odd else ""


def _alternatives(row: Record, proposed: Mapping[str, str]) -> str:
    """A remark on objects that have the same keys as the one with the proposed response, or an empty text."""
    before, _, key = (proposed.get("response") or proposed.get("reward", "")).partition(".")
    keys = {path.split(".")[1] for path in proposed.values() if path.startswith(f"{before}.")}
    others = [name for name, value in row.items() if name != before and type(value) is dict and keys <= value.keys()]
    return f"; the same keys lie in {_shown(others)}, which this line does not read" if key and others else ""


def _reads(records: Sequence[Record], proposed: Mapping[str, str], *, scored: bool) -> bool:
    """Whether a field map makes a sample with a response from some record; if `scored`, also with a finite reward."""
    for record in records:
        try:
            samples = samples_in(record, tuple(sorted(proposed.items())))[:SHOWN_KEYS]
        except Unusable:
            continue
        for sample in samples:
            roles = roles_of(sample)
            reward = parsers.reward(sample[roles.score]).value if roles.score else None
            is_scored = reward is not None and not math.isnan(reward)
            if (is_scored or not scored) and parsers.joined(roles.texts(sample)[1]).strip():
                return True
    return False


def maps_to_text(records: Sequence[Record]) -> bool:
    """Whether a field map may make scored samples of a file's first rows; with several rows, texts are enough."""
    proposed = proposed_map(records)
    is_list = bool(proposed) and len(_rows_of(records)) > 1
    return _reads(records, proposed, scored=not is_list)


def proposed_map(records: Sequence[Record]) -> dict[str, str]:
    """Return the keys that fit best, by their names and values, for the roles that the rows lack."""
    records = _rows_of(records)
    rows = [dict(_leaves(record)) for record in records]
    roles = roles_of(records[0])
    if of_pair := preference_map(records, roles):
        return of_pair
    is_open = not roles.messages and (not roles.response or isinstance(records[0][roles.response], (list, dict)))
    if is_open and (path := _chat_within(records[0], "", is_answered=True)):
        score = "" if roles.score else _as_score(rows, {path}, path)
        return {"messages": path, "reward": score} if score else {"messages": path}
    if is_open and (of_lists := _map_of_lists(rows[0])):
        return {role: key for role, key in of_lists.items() if key not in (roles.response, roles.score)}
    taken = {key for key in roles[:9] if key} | {*roles.counts.values()}
    found: dict[str, str] = {}
    texts = _by_path(rows, str)
    lists = (path for path, value in rows[0].items() if isinstance(value, list) and value)  # such as calls by turn
    in_list = next((path for path in lists if _OF_LISTS.intersection(words_of(path))), "")
    has_prompt = roles.prompt and any(record.get(roles.prompt) for record in records)
    has_response = (roles.response and not isinstance(records[0][roles.response], dict)) or roles.messages
    for role, known in (("response", has_response), ("prompt", has_prompt)):
        open_paths = () if known else texts.keys() - taken
        ranks = {path: rank for path in texts if path in open_paths and (rank := _as_text(role, path, texts))}
        best = max(ranks, key=ranks.__getitem__, default="")
        if best and (ranks[best][0] or (role == "response" and not in_list)):
            found[role] = best
            taken.add(best)
    if in_list and not (roles.response or roles.messages or found.get("response")):
        found["response"] = in_list
    if roles.prompt and (path := _chat_within(records[0][roles.prompt], roles.prompt)):
        found["prompt"] = path
    if not roles.score and (path := _as_score(rows, taken - {roles.status_key}, found.get("response", ""))):
        found["reward"] = path
    return found


def _map_of_lists(row: Mapping[str, Any]) -> dict[str, str]:
    """The map for parallel lists of texts and of scores (numbers, or members of objects); empty without them."""
    lists = {path: value for path, value in row.items() if isinstance(value, list) and len(value) > 1}
    texts = [path for path, value in lists.items() if all(isinstance(item, str) for item in value)]
    scores = {path: value for path, value in lists.items() if all(isinstance(item, int | float) for item in value)}
    for path, value in lists.items():
        if all(type(item) is dict for item in value) and not text.is_message(value[0]):
            for key in [*value[0]][:MAX_LEAVES]:
                if any(isinstance(item.get(key), int | float) for item in value):
                    scores[f"{path}.{key}"] = value
    for path in texts:
        for score, value in scores.items():
            if len(value) == len(lists[path]) and _last_words(score) & _OF_SCORE:
                return {"response": path, "reward": score}
    return {}


def _as_score(rows: Sequence[dict[str, Any]], taken: set[str], response: str) -> str:
    """The member that fits best as a score: a number whose name suggests one, else a verdict; empty without either."""
    words = {path: _last_words(path) for row in rows for path in row if path not in taken}
    words = {path: own for path, own in words.items() if NO_SCORES.isdisjoint(own)}
    numbers = [path for path in _by_path(rows, int | float) if path in words and words[path] & _OF_SCORE]
    beside = [path for path in numbers if path.rpartition(".")[0] == response.rpartition(".")[0]]
    if numbers := beside or numbers:
        return max(numbers, key=lambda path: (len(_OF_SCORE & words[path]), -len(path)))
    verdicts = [
        path
        for path, values in _by_path(rows, str).items()
        if path in words
        and all(map(parsers.is_verdict, values))
        and (
            words[path] & (_OF_SCORE | {"status"}) or not any(value.strip().lower() in _NO_VERDICTS for value in values)
        )
    ]
    return verdicts[-1] if verdicts else ""  # later verdicts usually test more


def _chat_within(value: object, path: str, *, is_answered: bool = False) -> str:
    """The path of the first conversation in a value, with an answer if `is_answered`; empty without one."""
    if path and text.conversation(value) is not None:
        return ""
    for below, _, member in _members_below(value, path, _DEPTH):
        messages = text.conversation(member) if isinstance(member, (list, dict)) else None
        if messages is not None and (text.answers_in(messages) or not is_answered):
            return below
    return ""


def _members_below(value: object, path: str, depth: int) -> Iterator[tuple[str, str, Any]]:
    """The members of objects, and the first members of lists, with paths and keys; outer ones first."""
    members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, member in members if depth else ():
        below = f"{path}.{key}" if path else f"{key}"
        yield below, str(key), member
        yield from _members_below(member, below, depth - 1)


def _leaves(record: Record, before: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    for key, value in [*record.items()][:MAX_LEAVES]:
        if isinstance(value, dict) and depth:
            yield from _leaves(value, f"{before}{key}.", depth - 1)
        else:
            yield f"{before}{key}", value


def _rows_of(records: Sequence[Record]) -> Sequence[Record]:
    """The records that may be samples: the rows in a document, else the records with the keys that most have."""
    kinds = Counter(frozenset(record) for record in records)
    first = max(records, key=lambda record: (kinds[frozenset(record)], len(record)))
    is_document = not any(isinstance(value, str) and len(value) > MAX_PROSE for value in first.values())
    alike = [record for record in records if len(first.keys() & record.keys()) * 2 >= len(first)]
    return (is_document and _rows_within(first, _DEPTH)) or alike


def _rows_within(record: Record, depth: int) -> Sequence[Record]:
    """The first scored objects of a list or of an object of ids in a document; empty without any."""
    if has_own_answer(record):
        return ()
    is_scored = roles_of(record).score is not None
    own = (value for key, value in record.items() if not (is_scored and fold(key) in TURNS))
    members = [value for value in (record, *own) if isinstance(value, (list, dict)) and value]
    for value in members:
        listed = value if isinstance(value, list) else [*value.values()] if len(value) > 1 else []
        if parsers.is_messages(listed) and text.conversation(listed) is None:
            inner = _rows_within(listed[0], depth - 1) if depth else ()
            leaves = [*dict(_leaves(listed[0])).values()]
            is_scored = any(isinstance(leaf, int | float) or parsers.is_verdict(leaf) for leaf in leaves)
            if inner or has_own_answer(listed[0]) or (is_scored and any(isinstance(leaf, str) for leaf in leaves)):
                return inner or listed[:SHOWN_KEYS]
    deeper = (_rows_within(value, depth - 1) for value in members[1:] if depth and isinstance(value, dict))
    return next((rows for rows in deeper if rows), ())


def _last_words(path: str) -> set[str]:
    return {*words_of(path.rpartition(".")[2])}


def _by_path(rows: Sequence[dict[str, Any]], kind: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        for path, value in row.items():
            if isinstance(value, kind) and not (isinstance(value, float) and math.isnan(value)):
                found.setdefault(path, []).append(value)
    return found


def _as_text(role: str, path: str, texts: Mapping[str, list[str]]) -> tuple[int, int, int, int] | None:
    """Rank a member as a text; None if it cannot be one.

    The criteria are its name, whether the name says that it was made from a different member (`rewritten_review` from
    `review`), whether it is prose, and its length.
    """
    words, values = words_of(path.rpartition(".")[2]), texts[path]
    named = len(_OF_TEXT[role].intersection(words))
    length = sum(map(len, values)) // len(values)
    is_prose = any(_space.search(value.strip()) for value in values)
    other = _OF_TEXT["prompt" if role == "response" else "response"]
    if not NO_TEXT.isdisjoint(words) or not (named or (is_prose and other.isdisjoint(words))):
        return None
    others = (words_of(key.rpartition(".")[2]) for key in texts)
    is_made = any(other[-1:] == words[-1:] and {*other} < {*words} for other in others)
    return named, int(is_made and role == "response"), int(is_prose), length


_BETTER = frozenset(("chosen", "preferred", "better", "winning"))
_PAIR = _BETTER | {"rejected", "dispreferred", "worse", "losing"}
_OF_CHOICE = frozenset("preference preferred prefer winner better best choice chosen".split())
_OF_RESPONSE = frozenset("response completion output generation answer reply text content messages".split())
_OF_SCORES = frozenset("score scores reward rewards rating ratings".split())
_SCORE_DEPTH = 5
"""The depth of nested objects and lists in which the scores of responses may lie."""
_OF_PROMPT = frozenset("prompt question query problem instruction input task".split())


def preference_map(records: Sequence[Record], roles: Roles) -> dict[str, str]:
    """Return the field map for rows that compare responses; empty for other rows."""
    first = records[0]
    keys = _responses(first)
    has_score = roles.score is not None and not _are_scores(first[roles.score], len(keys))
    reward = _reward_of_pair(records, keys) if len(keys) > 1 else ""
    is_answered = roles.response and roles.response not in USUAL["weak_response"]
    if has_score or (is_answered and not _OF_CHOICE.intersection(words_of(reward))):
        return {}
    if len(keys) < 2 or any(not is_text(record.get(key)) for record in records for key in keys):
        return {}
    role = "response" if any(isinstance(first[key], str) for key in keys) else "messages"
    found = {role: "+".join(keys)}
    if reward:
        found["reward"] = reward
    if not (roles.prompt and first[roles.prompt]):
        texts = [key for key, value in first.items() if key not in keys and isinstance(value, str) and value]
        named = [key for key in texts if _OF_PROMPT.intersection(words_of(key))]
        found |= {"prompt": named[0]} if named else {}
    return found


def _responses(record: Record) -> list[str]:
    """The keys of compared responses: `chosen` and `rejected`, or keys such as `output_1` and `output_2`."""
    alike: dict[tuple[str, ...], list[str]] = {}
    pair: list[str] = []
    for key in record:
        label = _label(key)
        if not label or "+" in key or "," in key or not is_text(record[key]):
            continue
        others = tuple(word for word in words_of(key) if word != label)
        if label in _PAIR and _OF_RESPONSE.issuperset(others):
            pair.append(key)
        elif len(label) < 3 and _OF_RESPONSE.intersection(others):
            alike.setdefault(others, []).append(key)
    return pair or next((keys for keys in alike.values() if len(keys) > 1), [])


def _label(key: str) -> str:
    """The part of a key that distinguishes responses: `chosen`, or its last word or number."""
    return next((word for word in words_of(key) if word in _PAIR), label_of(key))


def _reward_of_pair(records: Sequence[Record], keys: Sequence[str]) -> str:
    """The keys of the rewards of some responses: a number for each, a list, a choice, or the names of the responses."""
    first, labels = records[0], [_label(key) for key in keys]
    numbers = [key for key, value in first.items() if parsers.number(value) is not None]
    of_each = [next((key for key in numbers if label in {*words_of(key)}), "") for label in labels]
    if all(of_each) and len({*of_each}) == len(keys):
        return "+".join(of_each)
    if labels[0] in _PAIR:
        return "+".join("1" if label in _BETTER else "0" for label in labels)
    for key in first:
        named = (score for record in records for score in choice(record.get(key), labels))
        if key not in keys and _OF_CHOICE.intersection(words_of(key)) and any(score is not None for score in named):
            return key
    return next(
        (
            path
            for path, key, member in _members_below(first, "", _SCORE_DEPTH)
            if _are_scores(member, len(keys)) and _OF_SCORES.intersection(words_of(key))
        ),
        "",
    )


def _are_scores(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(parsers.number(item) is not None for item in value)


MAX_KEYS = 200
"""The most keys of a row that are considered as names of its group."""
_REGULAR = 0.75
"""The share of a key's values that must occur equally often, if the key names groups."""
_SUBJECTS = frozenset(
    "group prompt question query problem task item example instance puzzle doc document case exercise scenario".split()
)
"""Words in the names of keys that identify a thing to solve."""
_NUMBERS = frozenset("id ids idx index no num nr number key hash uid uuid row line".split())
_NO_GROUP = frozenset(
    """rollout rank seed attempt try trial generation gen completion response candidate answer output choice turn step
    epoch iter iteration worker gpu node host pid shard device batch launch version model length len tokens token chars
    count score reward grade advantage time timestamp date level difficulty type kind category subject topic domain
    split dataset benchmark source env environment status reason position pass n k temperature total max min text
    size""".split()
)
"""Words in the names of keys whose equal values make no group."""
_MODELS = frozenset(("model", "modelname", "modelid", "llm", "policyname"))
_OF_SHARDS = frozenset(
    """rank worker gpu node proc process host shard part dp tp pp ep cp chunk batch actor replica thread job task pid
    device server engine file split samples sample rollouts rollout completions completion generations generation
    generated outputs output results result dump dumps data train training eval val test log logs global step steps
    iter iteration epoch of t z""".split()
)
"""Words in the names of files that distinguish the parts of one log."""
_words = re.compile(r"[a-z]+")
_id = re.compile(r"(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*")


class GroupedRow(NamedTuple):
    """A row, its record as `--group-by` sees it, and the name of its file."""

    record: Record
    row: SampleRow
    file: str


Groups = list[Hashable]


def group_doubts(rows: Sequence[GroupedRow], *, is_guessed: bool) -> list[str]:
    """Return a sentence for each key that may group the rows differently, with the option that does so.

    `rows` follow each other in their files. `is_guessed` means that the group's key was chosen by its name.
    """
    if len(rows) < 2:
        return []
    of_prompts: Groups = [(row.split, row.step, row.prompt) for _, row, _ in rows]
    members: dict[Hashable, list[GroupedRow]] = defaultdict(list)
    for grouped in rows:
        members[grouped.row.split, grouped.row.step, grouped.row.group].append(grouped)
    doubts = []
    if all(goes_by_prompt(row) for _, row, _ in rows):
        doubts.append(_unnamed(rows, of_prompts))
    elif is_guessed:
        doubts.append(_mixed(rows, [*members.values()], of_prompts))
    if is_guessed:
        doubts.append(_merged([*members.values()]))
    return [doubt for doubt in doubts if doubt]


def goes_by_prompt(row: SampleRow) -> bool:
    """Return whether a row's group follows from its prompt alone, or from its prompt and its place."""
    return row.group.startswith(parsers.digest(row.prompt))


def _mixed(rows: Sequence[GroupedRow], groups: Sequence[list[GroupedRow]], of_prompts: Groups) -> str:
    """A doubt about groups with different prompts; empty without one, and for the turns of conversations."""
    several = [some for some in groups if len(some) > 1]
    mixed = []
    for some in several:
        prompts = {row.prompt for _, row, _ in some}
        shortest = min(prompts, key=len).strip()
        if len(prompts) > 1 and not (shortest and all(prompt.startswith(shortest) for prompt in prompts)):
            mixed.append(some)  # prompts that do not all continue the shortest, as those of later turns do
    if not mixed:
        return ""
    named = roles_of(mixed[0][0].record).group or "uid"
    key = next((key for key, names in _candidates(rows) if _same(names, of_prompts)), "prompt")
    return (
        f"Groups by {text.quoted(named)}: {len(mixed)} of {len(several)} checked "
        f"{'holds' if len(mixed) == 1 else 'hold'} different prompts. "
        f"Next: open the run with --group-by {shlex.quote(key)}, if a group is the samples of one prompt"
    )


def _merged(groups: Sequence[list[GroupedRow]]) -> str:
    """A doubt about groups with samples of several models, or of files that seem to be different logs; else empty."""
    first = groups[0][0].record
    of = roles_of(first).group or "prompt"
    model = next((key for key in first if fold(key[:MAX_NAME_CHARS]) in _MODELS), "")
    names = [[parsers.name(record.get(model)) for record, _, _ in some] for some in groups] if model else []
    models = [some for all_of in names if (some := [*dict.fromkeys(name for name in all_of if name is not None)])]
    if several := [some for some in models if len(some) > 1]:
        return (
            f"{len(several)} of {len(models)} groups checked hold samples of several models "
            f"({_shown(several[0])}). Next: open the run with --group-by {shlex.quote(f'{of},{model}')}, which keeps "
            "them apart"
        )
    places = [[*dict.fromkeys(file for _, _, file in some)] for some in groups]
    several = [files for files in places if len(set(map(_without_parts, files))) > 1]
    if not several:
        return ""
    return (
        f"{_shown(several[0])} share {len(several)} of {len(places)} groups checked: their samples are "
        f"shown together. Next: open the run with --group-by {shlex.quote(f'{of},file')}, if they are not parts of one "
        "log"
    )


def _without_parts(file: str) -> str:
    """The name of a file without the words and numbers that distinguish the parts of one log."""
    name = plain_name(file.rpartition("/")[2]).lower()
    stem = _id.sub("", name.partition(".jsonl")[0].rpartition(".")[0] or name.rpartition(".")[0] or name)
    return stem if {*_words.findall(stem)} - _OF_SHARDS else ""


def _unnamed(rows: Sequence[GroupedRow], of_prompts: Groups) -> str:
    """A doubt about rows grouped by their prompts, if a key may name their groups; else empty."""
    has_prompt = any(row.prompt for _, row, _ in rows)
    singles = sum(count == 1 for count in Counter(of_prompts).values()) * 2 > len(rows)
    for key, groups in _candidates(rows):
        divides = not has_prompt or _follows(of_prompts, groups)  # one prompt for each value
        if not _same(groups, of_prompts) and (divides or (singles and _follows(groups, of_prompts))):
            return (
                f"no key names the groups, but {text.quoted(key)} may: its values repeat, and make other groups "
                f"than equal prompts do. Next: open the run with --group-by {shlex.quote(key)}, if that names a group"
            )
    return ""


def _candidates(rows: Sequence[GroupedRow]) -> Iterator[tuple[str, Groups]]:
    """The keys whose values may name groups, with these groups: keys with such names first, then the finest."""
    found = []
    for key in islice(_names(rows[0].record), MAX_KEYS):
        words = {*words_of(key)}
        if words & _NO_GROUP or not key.isprintable():
            continue
        values = [member_at(record, key) for record, _, _ in rows]
        if not all(map(_is_name, values)):
            continue
        groups: Groups = [(row.split, row.step, str(value)) for value, (_, row, _) in zip(values, rows, strict=True)]
        distinct, is_named = len({*map(str, values)}), bool(words & _SUBJECTS)
        counts = Counter(groups)
        last = {file: group for group, (_, _, file) in zip(groups, rows, strict=True)}
        if len(counts) > len(last) + 1:  # the last group of a file may be cut off
            counts = Counter({group: count for group, count in counts.items() if group not in last.values()})
        usual, often = Counter(counts.values()).most_common(1)[0]
        if distinct > 1 and usual > 1 and often >= _REGULAR * len(counts):
            # rows of a group follow each other; or the key is a number, with more groups than rows in each
            runs = sum(1 for _ in groupby(zip(groups, (file for _, _, file in rows), strict=True)))
            count = len({*groups})
            if is_named or runs <= count * 1.25 or (words & _NUMBERS and count * count >= 2 * len(groups)):
                found.append((not is_named, -distinct, key, groups))
    yield from ((key, groups) for _, _, key, groups in sorted(found, key=lambda ranked: ranked[:2]))


def _names(record: Record) -> Iterator[str]:
    """The keys of a record, and of its objects, that may name a group, as `--group-by` takes them."""
    roles = roles_of(record)
    taken = {*roles[:7], roles.status_key, roles.advantage, *roles.counts.values()}  # all but the environment
    for key, value in record.items():
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner, member in value.items() if _is_name(member))
        elif key not in taken and _is_name(value):
            yield key


def _is_name(value: object) -> bool:
    return type(value) is int or (type(value) is str and 0 < len(value) <= parsers.MAX_TAG_CHARS)


def _same(some: Groups, others: Groups) -> bool:
    return _follows(some, others) and _follows(others, some)


def _follows(some: Groups, others: Groups) -> bool:
    """Whether each group of `others` lies within a single group of `some`."""
    pairs = {*zip(some, others, strict=True)}
    return len(pairs) == len({right for _, right in pairs})
