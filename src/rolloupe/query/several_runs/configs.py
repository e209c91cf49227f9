"""The configurations of runs: the few keys that tell them apart, all keys side by side, and runs that share a value.

A key ranks higher if people usually change it from run to run, and the more runs have it; it ranks lower if it
identifies the run itself: a path, a name, a text that no two runs share. The number of runs and the size of each
configuration are bounded.
"""

import json
import math
import operator
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.lru import Lru

MAX_VALUES = 5_000  # maximum number of values of one configuration to compare
MAX_DEPTH = 20
MAX_KEYS = 24
MAX_CHARS = 80  # maximum length of a value
LONG_CHARS = 40
MAX_KEY_CHARS = 200
FEW = 3  # among more runs, a text that differs in each is a name
MAX_S = 3.0  # time after which no further configuration is read
AGAIN_S = 0.3  # time after which no configuration is read a second time

TELLING = re.compile(
    r"(^|[._])(lr|learning_rate|model(_name)?|kl\w*|beta|temperature|clip\w*|loss\w*|algo\w*|advantage\w*|(train_)?batch_size"
    r"|group_size|n_samples\w*|dataset|env(_name)?|max_tokens|lora_rank)$",
    re.IGNORECASE,
)
"""The last parts of keys by which people distinguish their runs."""

WHOLE = 2**40  # characters of a value: configurations are compared as a whole


class ConfigItem(Struct, frozen=True):
    """A run's value of each differing key, as text, cut if long; None for a missing key."""

    run: str
    values: list[str | None]


class ConfigsReply(Struct, frozen=True):
    """The differences between the configurations of runs, most informative keys first."""

    keys: list[str]
    telling: int
    """How many of the first keys describe a run better than its name does."""
    runs: list[ConfigItem]
    """The runs that have a configuration."""
    left: int
    """Runs that were not compared."""


class FlatConfig(NamedTuple):
    """A configuration when it was read, as columns. Runs with the same keys share them."""

    read_s: float
    keys: tuple[str, ...]
    values: tuple[str, ...]


_read: WeakKeyDictionary[OpenRun, FlatConfig] = WeakKeyDictionary()
_keys: Lru[tuple[str, ...], tuple[str, ...]] = Lru(256)
"""The keys of a configuration, for other runs that have the same."""


def config_differences(runs: Sequence[OpenRun], max_s: float = MAX_S) -> ConfigsReply:
    """Compare the configurations that can be read in `max_s`, and older ones, which are read again for `AGAIN_S`."""
    before = {run: kept for run in runs if (kept := _read.get(run)) is not None}
    _read_for(max_s, [run for run in runs if run not in before])
    _read_for(min(max_s, AGAIN_S), sorted(before, key=lambda run: before[run].read_s))
    known = [(run, kept) for run in runs if (kept := _read.get(run)) is not None]
    configs = {run.id: dict(zip(kept.keys, kept.values, strict=True)) for run, kept in known if kept.keys}
    names = {run.id: run.info.name for run, _ in known}
    keys = ranked(differing_keys(configs), configs, names)[:MAX_KEYS]
    telling = sum(not _rank(key, configs, names)[0] for key in keys)
    items = [ConfigItem(run_id, [*map(values_of_run.get, keys)]) for run_id, values_of_run in configs.items()]
    return ConfigsReply(keys, telling, items, len(runs) - len(known))


SEED = re.compile(r"(^|[._/-])([a-z]+_)?seed$", re.IGNORECASE)
"""Keys of configurations that set a seed."""


def recipes(runs: Sequence[OpenRun]) -> list[list[OpenRun]]:
    """Group runs whose configurations differ in their seeds and names alone, in the order of their first runs.

    A run without a configuration is a group of its own.
    """
    found = config_differences(runs, math.inf)
    chosen = [place for place, key in enumerate(found.keys[: found.telling]) if not SEED.search(key)]
    values_of = {item.run: item.values for item in found.runs}
    groups: dict[tuple[str | None, ...], list[OpenRun]] = {}
    for run in runs:
        values = values_of.get(run.id)
        recipe = (run.id,) if values is None else (None, *(values[place] for place in chosen))
        groups.setdefault(recipe, []).append(run)
    return list(groups.values())


_COMPARISON = re.compile(r"(?P<key>[^=<>]+)(?P<sign><=|>=|=|<|>)(?P<value>.+)", re.DOTALL)
_SIGNS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt}


def runs_configured(runs: Sequence[OpenRun], words: Sequence[str], max_s: float = MAX_S) -> list[list[str]]:
    """Return for each word the ids of the runs whose configuration has it.

    A word is a part of a value, in any case, or `key=value` with the whole value, where `key` may be the last parts of
    a path. Numbers are compared as numbers, with `<`, `<=`, `>` and `>=`, too.
    """
    _read_for(max_s, [run for run in runs if run not in _read])
    configs = [(run.id, kept) for run in runs if (kept := _read.get(run)) is not None]
    tests = [_config_test(word.casefold()) for word in words]
    return [[run_id for run_id, kept in configs if any(map(test, kept.keys, kept.values))] for test in tests]


def _config_test(word: str) -> Callable[[str, str], bool]:
    match = _COMPARISON.fullmatch(word)
    if match is None:
        return lambda _, value: word in value.casefold()
    wanted, compare, number = match["key"], _SIGNS[match["sign"]], _number(match["value"])

    def test(key: str, value: str) -> bool:
        key = key.casefold()
        if key != wanted and not key.endswith(f".{wanted}"):
            return False
        own = _number(value)
        if number is not None and own is not None:
            return bool(compare(own, number))
        return match["sign"] == "=" and value.casefold() == match["value"]

    return test


def _read_for(max_s: float, runs: Sequence[OpenRun]) -> None:
    """Read the configurations of runs, in this order, until the time is over."""
    until = time.monotonic() + max_s
    for run in runs:
        if time.monotonic() > until:
            break
        by_path = flat(run.format.config(run.info))
        keys, values = (tuple(map(sys.intern, texts)) for texts in (by_path, by_path.values()))
        _read[run] = FlatConfig(time.monotonic(), _keys.setdefault(keys, keys), values)


def flat(tree: Any, max_chars: int = MAX_CHARS) -> dict[str, str]:
    """The values of a configuration as text, by path; lists of plain values are one value."""
    values: dict[str, str] = {}
    for path, value in _values(tree, "", 0):
        if len(values) >= MAX_VALUES:
            break
        if len(path) > MAX_KEY_CHARS:
            continue
        shown = value
        if isinstance(value, list) and len(value) > max_chars:
            shown = [*value[:max_chars], f"and {len(value) - max_chars} more"]
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)
        values[path] = text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
    return values


def _values(tree: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    children: Iterable[tuple[Any, Any]] | None = tree.items() if isinstance(tree, Mapping) else None
    if isinstance(tree, list) and any(isinstance(value, (list, Mapping)) for value in tree[:MAX_VALUES]):
        children = enumerate(tree)
    if children is None or depth >= MAX_DEPTH:
        yield path, tree
        return
    for key, value in children:
        yield from _values(value, f"{path}.{key}" if path else str(key), depth + 1)


def ranked(keys: Sequence[str], configs: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> list[str]:
    """Sort keys of configurations, the most telling first; `configs` and `names` are those of the runs, by id."""
    return sorted(keys, key=lambda key: _rank(key, configs, names))


def differing_keys(configs: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The keys without one common value in all configurations."""
    seen: dict[str, list[str]] = defaultdict(list)
    for values_by_key in configs.values():
        for key, value in values_by_key.items():
            seen[key].append(value)
    return [key for key, values in seen.items() if len({*values}) > 1 or len(values) < len(configs)]


def _rank(
    key: str, configs: Mapping[str, Mapping[str, str]], names: Mapping[str, str]
) -> tuple[bool, bool, bool, int, bool, int, str]:
    """Return the rank of a key: lower means more telling. The first is True if it only names a run or its files."""
    values = {run_id: config[key] for run_id, config in configs.items() if key in config}
    distinct = len(set(values.values()))
    is_text = any(_number(value) is None for value in values.values())
    is_telling = TELLING.search(key) is not None
    is_long = any(names[run_id] in value or len(value) > LONG_CHARS for run_id, value in values.items())
    is_path = not is_telling and any("/" in value for value in values.values())  # a model name has the form org/model
    is_other = is_text and not is_telling and distinct == len(values) > FEW
    is_name, is_constant = is_long or is_path or is_other, distinct == 1
    return is_name, is_constant, not is_telling, len(configs) - len(values), is_text, len(key), key


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class ConfigRow(Struct, frozen=True):
    """A key, and its value as text in each run; None for a missing key."""

    key: str
    differs: bool
    values: list[str | None]
    cut: list[int] = []
    """The places in `values` of those that are cut: none, unless the reader can take no more."""


class ConfigTable(Struct, frozen=True):
    """Some rows of `total` that match, from `offset`; of `keys` keys, `differing` differ."""

    runs: list[str]
    """The ids of the runs, in the order of the values."""
    keys: int
    differing: int
    total: int
    offset: int
    rows: list[ConfigRow]
    without: list[str]
    """The runs without a configuration: they differ from the others in no key."""
    left: int
    """Runs whose configuration was not read, for lack of time."""


def config_table(
    runs: Sequence[OpenRun],
    *,
    all_keys: bool = False,
    find: str = "",
    offset: int = 0,
    limit: int | None = None,
    max_s: float = MAX_S,
) -> ConfigTable:
    """Compare configurations: the keys that differ first. `find` is a part of a key or of a value, in any case."""
    began, configs = time.monotonic(), dict[str, dict[str, str]]()
    for run in runs:
        if time.monotonic() - began > max_s:
            break
        configs[run.id] = flat(run.format.config(run.info), WHOLE)
    known = {run_id: values for run_id, values in configs.items() if values}
    differing = ranked(differing_keys(known), known, {run.id: run.info.name for run in runs})
    keys = list(dict.fromkeys(key for values in known.values() for key in values))
    different = set(differing)
    order = [*differing, *(key for key in keys if key not in different)] if all_keys else differing
    needle = find.strip().casefold()
    matches = [
        key
        for key in order
        if needle in key.casefold() or any(needle in values.get(key, "").casefold() for values in known.values())
    ]
    page = matches[offset : None if limit is None else offset + limit]
    rows = [ConfigRow(key, key in different, [configs.get(run.id, {}).get(key) for run in runs]) for key in page]
    without = [run_id for run_id, values in configs.items() if not values]
    left = len(runs) - len(configs)
    return ConfigTable([run.id for run in runs], len(keys), len(differing), len(matches), offset, rows, without, left)


def run_groups(runs: Sequence[OpenRun], key: str) -> dict[str | None, list[OpenRun]]:
    """Divide runs by the value of a key of their configurations, in order; None is last. Raises `BadQuery`."""
    by_value: dict[str | None, list[OpenRun]] = {}
    for run in runs:
        by_value.setdefault(flat(run.format.config(run.info), WHOLE).get(key), []).append(run)
    if by_value.keys() <= {None}:
        raise BadQuery(f"none of the runs has {key!r} in its configuration")
    numbers = {value: _number(value or "") for value in by_value}

    def order(value: str | None) -> tuple[bool, bool, float, str]:
        number = numbers[value]
        return value is None, number is None, number or 0.0, value or ""

    return {value: by_value[value] for value in sorted(by_value, key=order)}
