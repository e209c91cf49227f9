"""Hints that other keys may name the groups of a log, from a look at some rows; a person decides."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.formats.generic.keys import MAX_NAME_CHARS, fold, roles_of, words_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import plain_name
from rolloupe.formats.reading.records import Record
from rolloupe.model import SampleRow

NAMED_FILES = 3
MAX_KEYS = 200
"""Of a row, so many keys may name its group."""
_REGULAR = 0.75
"""Of the values of a key that names groups, so many occur equally often."""
_SUBJECTS = frozenset(
    "group prompt question query problem task item example instance puzzle doc document case exercise scenario".split()
)
"""Words in the names of keys that tell a thing to solve from another."""
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
"""Words in the names of files that tell parts of one log from each other."""
_words = re.compile(r"[a-z]+")
_id = re.compile(r"(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*")


class GroupedRow(NamedTuple):
    """A row, its record as `--group-by` sees it, and the name of its file."""

    record: Record
    row: SampleRow
    file: str


Groups = list[Hashable]
"""The group of each row."""


def group_doubts(rows: Sequence[GroupedRow], *, is_guessed: bool) -> list[str]:
    """Name the keys that may group some rows in another way, each in a sentence with the option that does so.

    `rows` follow each other in their files. `is_guessed` says that the key of the group was taken for its name.
    """
    if len(rows) < 2:
        return []
    of_prompts: Groups = [(row.split, row.step, row.prompt) for _, row, _ in rows]
    if all(goes_by_prompt(row) for _, row, _ in rows):
        found = [_unnamed(rows, of_prompts)]
    else:
        found = [_mixed(rows, of_prompts) if is_guessed else ""]
    return [doubt for doubt in (*found, _merged(rows) if is_guessed else "") if doubt]


def goes_by_prompt(row: SampleRow) -> bool:
    """Return whether the group of a row follows from its prompt alone, or from that and its place."""
    return row.group.startswith(fields.digest(row.prompt))


def _mixed(rows: Sequence[GroupedRow], of_prompts: Groups) -> str:
    """What to say of groups with different prompts; empty for none, and for the turns of conversations."""
    members: dict[Hashable, list[GroupedRow]] = defaultdict(list)
    for grouped in rows:
        members[grouped.row.split, grouped.row.step, grouped.row.group].append(grouped)
    several = [some for some in members.values() if len(some) > 1]
    mixed = [some for some in several if _differ([row.prompt for _, row, _ in some])]
    if not mixed:
        return ""
    named = roles_of(mixed[0][0].record).group or "uid"
    key = next((key for key, groups in _candidates(rows) if _same(groups, of_prompts)), "prompt")
    return (
        f"{len(mixed)} of {len(several)} groups that were looked at, by {text.quoted(named)}, hold different prompts. "
        f"Next: open the run with --group-by {shlex.quote(key)}, if a group is the samples of one prompt"
    )


def _differ(prompts: Sequence[str]) -> bool:
    """Whether prompts differ, and do not all continue the shortest, as those of later turns do."""
    shortest = min(prompts, key=len).strip()
    return len({*prompts}) > 1 and not (shortest and all(prompt.startswith(shortest) for prompt in prompts))


def _merged(rows: Sequence[GroupedRow]) -> str:
    """What to say of groups that hold samples of several models, or of files that seem no parts of one log."""
    models: dict[Hashable, dict[str, None]] = defaultdict(dict)
    places: dict[Hashable, dict[str, None]] = defaultdict(dict)
    model = next((key for key in rows[0].record if fold(key[:MAX_NAME_CHARS]) in _MODELS), "")
    for record, row, file in rows:
        group = row.split, row.step, row.group
        places[group].setdefault(file)
        if model and (name := fields.name(record.get(model))) is not None:
            models[group].setdefault(name)
    of = roles_of(rows[0].record).group or "prompt"
    if several := [[*names] for names in models.values() if len(names) > 1]:
        return (
            f"{len(several)} of {len(models)} groups that were looked at hold samples of several models "
            f"({_first(several[0])}). Next: open the run with --group-by {_pair(of, model)}, which keeps them apart"
        )
    several = [[*names] for names in places.values() if len({_without_parts(name) for name in names}) > 1]
    if not several:
        return ""
    return (
        f"{_first(several[0])} share {len(several)} of {len(places)} groups that were looked at: their samples are "
        f"shown together. Next: open the run with --group-by {_pair(of, 'file')}, if they are no parts of one log"
    )


def _pair(*keys: str) -> str:
    return shlex.quote(",".join(keys))


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(map(text.named, names[:NAMED_FILES]))
    return f"{shown} and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else shown


def _without_parts(file: str) -> str:
    """The name of a file without what tells parts of one log from each other."""
    name = plain_name(file.rpartition("/")[2]).lower()
    stem = _id.sub("", name.partition(".jsonl")[0].rpartition(".")[0] or name.rpartition(".")[0] or name)
    return stem if {*_words.findall(stem)} - _OF_SHARDS else ""


def _unnamed(rows: Sequence[GroupedRow], of_prompts: Groups) -> str:
    """What to say of a key that may name the groups of rows that go by their prompts; empty for none."""
    has_prompt = any(row.prompt for _, row, _ in rows)
    singles = sum(count == 1 for count in Counter(of_prompts).values()) * 2 > len(rows)
    for key, groups in _candidates(rows):
        divides = not has_prompt or _follows(of_prompts, groups)  # one prompt for each value
        if not _same(groups, of_prompts) and (divides or (singles and _follows(groups, of_prompts))):
            return (
                f"no key names the groups, and {text.quoted(key)} may: its values come again, and make other groups "
                f"than equal prompts do. Next: open the run with --group-by {shlex.quote(key)}, if that names a group"
            )
    return ""


def _candidates(rows: Sequence[GroupedRow]) -> Iterator[tuple[str, Groups]]:
    """The keys whose values may name groups, with these: first those whose names say so, then the finest."""
    found = []
    for key in islice(_names(rows[0].record), MAX_KEYS):
        words = {*words_of(key)}
        if words & _NO_GROUP or not key.isprintable():
            continue
        values = [_name_at(record, key) for record, _, _ in rows]
        if None in values:
            continue
        groups: Groups = [(row.split, row.step, value) for value, (_, row, _) in zip(values, rows, strict=True)]
        distinct, is_named = len({*values}), bool(words & _SUBJECTS)
        if distinct > 1 and _is_regular(groups, rows) and (is_named or _may_be_groups(groups, rows, words)):
            found.append((not is_named, -distinct, key, groups))
    yield from ((key, groups) for _, _, key, groups in sorted(found, key=lambda ranked: ranked[:2]))


def _names(record: Record) -> Iterator[str]:
    """The keys of a record that may name a group, those of its objects too, as `--group-by` takes them."""
    roles = roles_of(record)
    taken = {*roles[:7], roles.status_key, roles.advantage, *roles.counts.values()}  # all but the environment
    for key, value in record.items():
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner, member in value.items() if _is_name(member))
        elif key not in taken and _is_name(value):
            yield key


def _is_name(value: object) -> bool:
    return type(value) is int or (type(value) is str and 0 < len(value) <= fields.MAX_TAG_CHARS)


def _name_at(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is None and "." in key:
        outer, _, inner = key.partition(".")
        member = record.get(outer)
        value = member.get(inner) if isinstance(member, dict) else None
    return str(value) if _is_name(value) else None


def _is_regular(groups: Groups, rows: Sequence[GroupedRow]) -> bool:
    """Whether most values occur equally often, and more than once; the last one of a file may be cut off."""
    counts = Counter(groups)
    last = {file: group for group, (_, _, file) in zip(groups, rows, strict=True)}
    if len(counts) > len(last) + 1:
        counts = Counter({group: count for group, count in counts.items() if group not in last.values()})
    usual, often = Counter(counts.values()).most_common(1)[0]
    return usual > 1 and often >= _REGULAR * len(counts)


def _may_be_groups(groups: Groups, rows: Sequence[GroupedRow], words: set[str]) -> bool:
    """Whether a key whose name tells little may name groups.

    The rows of a value follow each other, or under the name of a number there are more values than rows of each.
    """
    runs = sum(1 for _ in groupby(zip(groups, (file for _, _, file in rows), strict=True)))
    distinct = len({*groups})
    return runs <= distinct * 1.25 or (bool(words & _NUMBERS) and distinct * distinct >= 2 * len(groups))


def _same(some: Iterable[Hashable], others: Iterable[Hashable]) -> bool:
    """Whether rows are divided alike."""
    pairs = {*zip(some, others, strict=True)}
    return len(pairs) == len({left for left, _ in pairs}) == len({right for _, right in pairs})


def _follows(some: Iterable[Hashable], others: Iterable[Hashable]) -> bool:
    """Whether each value of `others` comes with a single value of `some`."""
    pairs = {*zip(some, others, strict=True)}
    return len(pairs) == len({right for _, right in pairs})
