"""The configurations of runs side by side: the keys that differ, the most telling first, or all keys."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rolloupe.index import OpenRun
from rolloupe.query.run.config_differences import MAX_S, differing_keys, flat, ranked
from rolloupe.query.run.trainer_files import config

WHOLE = 2**40
"""Characters of a value: configurations are compared as a whole."""


class ConfigRow(NamedTuple):
    """A key, and its value as text in each run; None for a missing key."""

    key: str
    differs: bool
    values: list[str | None]


class ConfigTable(NamedTuple):
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
    """Compare the configurations of runs. `find` is a part of a key or of a value, in any case.

    The keys that differ come first, the most telling one at the top; the others keep the order of their files.
    """
    began, configs, read = time.monotonic(), dict[str, dict[str, str]](), 0
    for run in runs:
        if time.monotonic() - began > max_s:
            break
        configs[run.id] = flat(config(run), WHOLE)
        read += 1
    known = {run_id: values for run_id, values in configs.items() if values}
    differing = ranked(differing_keys(known), known, {run.id: run.info.name for run in runs})
    keys = list(dict.fromkeys(key for values in known.values() for key in values))
    different = set(differing)
    order = [*differing, *(key for key in keys if key not in different)] if all_keys else differing
    needle = find.strip().casefold()
    matches = [key for key in order if not needle or _matches(key, needle, known)]
    page = matches[offset : None if limit is None else offset + limit]
    rows = [ConfigRow(key, key in different, [configs.get(run.id, {}).get(key) for run in runs]) for key in page]
    without = [run_id for run_id, values in configs.items() if not values]
    return ConfigTable(
        [run.id for run in runs], len(keys), len(differing), len(matches), offset, rows, without, len(runs) - read
    )


def _matches(key: str, needle: str, configs: Mapping[str, Mapping[str, str]]) -> bool:
    return needle in key.casefold() or any(needle in one.get(key, "").casefold() for one in configs.values())
