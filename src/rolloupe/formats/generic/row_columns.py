"""Rows under usual names, many at once: `NamedRows.row` for blocks of records that all have the same roles.

A role depends on names and on the kinds of values, and little on the values themselves. Where a value may decide, the
values of a block are compared; if they disagree, the block is read row by row. Of lists, rows need messages as prompts,
and tokens.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec.json import decode

from rolloupe import text
from rolloupe.formats.generic.keys import NamedKeys, Roles, candidates, is_of_rewards, is_verdict, split_of
from rolloupe.formats.generic.row_tokens import RowTokens, extent_of, row_tokens, token_members
from rolloupe.formats.generic.shapes import has_own_answer, members_by_number
from rolloupe.formats.reading import arrays
from rolloupe.formats.reading import record_blocks as blocks
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import stem
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.record_blocks import FLAGS, INTEGERS, NESTED, NULLS, NUMBERS, TEXTS, Asked, RecordBlock
from rolloupe.formats.reading.records import Record
from rolloupe.model import SampleColumns, Source, Status

if TYPE_CHECKING:
    from rolloupe.formats.generic.rows import NamedRows

_UID = re.compile(r"(?P<group>.+)_[0-9]+_[0-9]+", re.DOTALL)
_TEXTS = ("prompt", "response", "weak_response", "messages", "weak_messages")
_SCORES = ("score", "outcome", "judgement", "weak_score")
_NAMES = ("group", "env", "weak_group", "short")
_INTEGERS = ("step", "weak_step", "short")
_SCALARS = TEXTS | FLAGS | NUMBERS | NULLS
_NEVER = ("choices", "is_completed")
"""Members that decide more than a role."""
_OF_ONE = {b"[" + bytes((first,)) for first in b"-0123456789tf]"} | {b"nu"}
_NO_LIST = ("error", "discarded", "uid")
_OF_LIST = {"advantage", "label"}
"""Roles that no list has, or that rows do not use."""


def group_of_uid(uid: object) -> str | None:
    """Return the group in the name of a sample, as trainers make it: `GROUP_0_1`."""
    match = _UID.fullmatch(uid) if isinstance(uid, str) else None
    return parsers.name(match["group"]) if match else None


def lists_of_tokens(reader: "NamedRows", block: RecordBlock) -> list[Record]:
    """Return the lists of each record that may hold its tokens; empty for records without any."""
    keys = [key for key, _ in token_members(block.keys) if block.types(key) == NESTED]
    read = arrays.Cutter(parse, reader.may_cut, reader.needs_length).read
    are_long = [length >= arrays.MIN_LINE_BYTES for length in block.lengths]  # others are decoded whole
    pairs = ((key, zip(block.columns[key], are_long, strict=True)) for key in keys)
    columns = [[read(key, value) if is_long else decode(value) for value, is_long in pair] for key, pair in pairs]
    return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]


def sample_columns(
    reader: "NamedRows", source: Source, whole: RecordBlock, found: Sequence[RowTokens] = ()
) -> SampleColumns | None:
    """Return the samples of a block of records; None if `row` may treat some of them in another way than the first."""
    named = candidates(whole.keys)
    block, asked, rewards = _without_lists(whole, named) or (None, {}, {})
    if block is None or not _is_plain(block, named):
        return None
    doubts: dict[str, Any] = dict.fromkeys(source.depends.split("\t")[1:])
    roles = reader.known_roles(block.first)._replace(**doubts)
    prompt, response, score, step = roles.prompt, roles.response, roles.score, roles.step
    if prompt is None or response is None or score is None or roles.messages is not None or {*asked} - {prompt}:
        return None
    if step is None and source.step is None:
        step = roles.weak_step
    is_usual = block.types(prompt) == block.types(response) == TEXTS and block.types(score) <= NUMBERS | FLAGS
    if not is_usual or (step is not None and block.types(step) != INTEGERS):
        return None
    prompts, responses = block.columns[prompt], block.columns[response]
    reward = rewards.pop(score, None) or blocks.rewards_in(block, score)
    if reader.divides and (None in reward.values or not (all(responses) and has_own_answer(block.first))):
        lists = (whole.columns[key] for key in whole.keys if whole.types(key) == NESTED and key not in asked)
        if any(bytes(memoryview(value)[:2]) not in _OF_ONE for value in chain.from_iterable(lists)):
            return None
    if (rest := _rest(block, roles, rewards, reward)) is None or blocks.have_texts(block, reward.values):
        return None
    metrics, tags = rest
    steps = [source.step or 0] * block.count if step is None else block.columns[step]
    groups = block.read("uid", group_of_uid) if roles.group is None else block.names(roles.group)
    may_be_weak = None in groups and bool(named.of("weak_group"))
    if not all(map(blocks.are_exact, (steps, *metrics.values()))) or (may_be_weak and not all(prompts)):
        return None
    may_differ = source.split in (None, "train") and (roles.step is not None or source.step is not None)
    split, place = source.split or "train", stem(source.name)
    key = roles.split if may_differ else None
    evals = block.read(key, lambda value: roles.evaluation({key: value}) if key else "")
    fields: dict[str, Sequence[Any]] = {
        "split": [found or split for found in evals],
        "step": steps,
        "index": [f"{place}:{start}" for start in block.starts],
        "reward": reward.values,
        **blocks.fields_of(block, asked.get(prompt, (prompts, {})), response, groups, _statuses(block, roles)),
    }
    if any(prompt.startswith(text.ROLE_STARTS) for prompt in blocks.changes(prompts)):
        fields["turns"] = [*map(text.bare_answers, responses, prompts)]
    if roles.advantage:
        fields["advantage"] = block.numbers(roles.advantage)
    for what, key in roles.counts.items():
        fields[f"{what}_tokens"] = block.counts(key)
    if found := found or [*map(row_tokens, lists_of_tokens(reader, whole))]:
        _add_tokens(fields, found, reader.pad)
    if roles.env:
        fields["env"] = [name or "" for name in block.names(roles.env)]
    if "env" in tags:
        own = fields.get("env", [""] * block.count)
        fields["env"] = [name or tag or "" for name, tag in zip(own, tags["env"], strict=True)]
    if "uid" in block.columns:
        fields["uid"] = [name or "" for name in block.names("uid")]
    if "discarded" in block.columns:
        fields["discarded"] = block.read("discarded", lambda reason: parsers.reason(reason) or "")
    return SampleColumns(count=block.count, fields=fields, metrics=metrics, tags=tags)


def _without_lists(
    block: RecordBlock, named: NamedKeys
) -> tuple[RecordBlock, dict[str, Asked], dict[str, blocks.Rewards]] | None:
    """Return a block without objects and lists, and the prompts and rewards that these were."""
    columns: dict[str, Sequence[Any]] = {}
    asked: dict[str, Asked] = {}
    rewards: dict[str, blocks.Rewards] = {}
    for key in [key for key in block.keys if block.types(key) == NESTED]:
        roles = {role for role, keys in named.by_role.items() if key in keys}
        begins = {bytes(memoryview(value)[:1]) for value in block.columns[key]}
        if roles == {"prompt"} and (found := blocks.prompts_in(block, key)):
            asked[key], columns[key] = found, found[0]
        elif roles <= _OF_LIST and key not in _NO_LIST and b"{" not in begins:
            columns[key] = [None] * block.count
        elif roles <= {"score"} and is_of_rewards(key) and begins == {b"{"} and not token_members((key,)):
            rewards[key] = own = blocks.rewards_in(block, key)
            columns[key] = [0.0 if roles else None] * block.count
            if roles and None in blocks.first_of([own.values, *own.metrics.values()]):
                return None  # no score
        else:
            return None
    is_plain = not asked or "id" not in block.keys  # which names the group of messages
    return (block.with_columns(columns), asked, rewards) if is_plain else None


def _add_tokens(fields: dict[str, Sequence[Any]], found: Sequence[RowTokens], pad: str) -> None:
    """Add what the tokens of each record say."""
    prompts, responses = ([*fields.get(f"{what}_tokens", [None] * len(found))] for what in ("prompt", "response"))
    for place, tokens in enumerate(found):
        if responses[place] is None and len(tokens.pieces):
            _, prompts[place], responses[place] = extent_of(tokens, prompts[place], pad)
    fields |= {"prompt_tokens": prompts, "response_tokens": responses}
    fields["has_series"] = [tokens.has_series for tokens in found]


def _is_plain(block: RecordBlock, named: NamedKeys) -> bool:
    """Whether all records of a block have the roles of the first, and hold nothing but texts, numbers, flags, nulls."""
    keys = block.keys
    if any(not block.types(key) <= _SCALARS for key in keys) or not block.types("error") <= NULLS:
        return False
    if any(len(block.types(key)) > 1 for key in ("discarded", "uid")):
        return False
    if members_by_number(keys) or not {*_NEVER}.isdisjoint(keys) or candidates(keys[::-1]) != named:
        return False  # the order of the keys, which may differ, decides
    members = token_members(keys)
    if any(block.types(key) >= TEXTS for key, _ in members) or token_members(keys[::-1]) != members:
        return False
    counted = {key: ("counts",) for keys_of in named.counts.values() for key in keys_of}
    roles_of: dict[str, tuple[str, ...]] = {}
    for role, keys_of in named.by_role.items():
        for key in keys_of:
            roles_of[key] = (*roles_of.get(key, counted.get(key, ())), role)
    return all(_are_alike(block, key, roles) for key, roles in (counted | roles_of).items())


def _are_alike(block: RecordBlock, key: str, roles: Sequence[str]) -> bool:
    """Whether each value under a key may have the same roles as the first."""
    types, values = block.types(key), block.columns[key]
    is_mixed = types == NUMBERS and {*roles} <= {*_SCORES, "advantage"}
    if len(types) > 1 and not is_mixed:
        return False
    tests: list[Callable[[Any], object]] = []
    if types == TEXTS:
        if not {*_SCORES, *_INTEGERS}.isdisjoint(roles):
            return False
        if not {*_TEXTS}.isdisjoint(roles):
            return not text.have_conversation(values)
        tests += [bool] if not {*_NAMES}.isdisjoint(roles) else []
    elif types <= NUMBERS:
        tests += [parsers.integer, parsers.count] if not {*_INTEGERS, "counts"}.isdisjoint(roles) else []
        tests += [lambda value: is_verdict(key, value)] if "outcome" in roles else []
    if "split" in roles:
        tests.append(lambda value: split_of(key, value))
    # What holds for the least and the greatest integer holds for those between them: all these tests ask for a range.
    ends = (min(values), max(values)) if types == INTEGERS and "split" not in roles else ()
    left = [test for test in tests if not ends or not all(_kind(test(value)) for value in ends)]
    some = {*values} if left else ()
    return all(len({_kind(test(value)) for value in some}) == 1 for test in left)


def _kind(result: object) -> bool:
    """As `keys` judges the result of a test."""
    return result is not None and result is not False and result != ""


def _rest(
    block: RecordBlock, roles: Roles, others: Mapping[str, blocks.Rewards], reward: blocks.Rewards
) -> tuple[Mapping[str, Sequence[Any]], Mapping[str, Sequence[Any]]] | None:
    """Sample metrics and tags: see `Roles.rest`. None if some of them have the same name."""
    with_role = {*roles[:9], *roles.counts.values(), roles.advantage, "uid"}
    left = [key for key in block.keys if key not in with_role and (key != "discarded" or block.types(key) != TEXTS)]
    numbers: list[tuple[str, Sequence[Any]]] = []
    for key in left:
        if key in others:
            numbers += others[key].metrics.items()
        elif not block.types(key) <= TEXTS | NULLS:
            numbers.append((key, block.numbers(key)))
    numbers += reward.metrics.items()
    texts = [(key, block.read(key, parsers.tag)) for key in left if block.types(key) >= TEXTS] + [*reward.tags.items()]
    if any(len(dict(columns)) < len(columns) for columns in (numbers, texts)):
        return None
    return blocks.in_order(numbers), blocks.in_order(texts)


def _statuses(block: RecordBlock, roles: Roles) -> Sequence[tuple[Status, str]]:
    """The status of each record: see `Roles.status`."""
    key = roles.status_key
    return block.read(key, lambda value: roles.status({key: value})) if key else [("unknown", "")] * block.count
