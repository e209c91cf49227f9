"""The tables of Telescope's archives: their names, and the rows about each sample.

Source: the loggers of Telescope 0.1.2 (schema 0.3.0). Columns are looked up by name; a missing one, or one of another
type, counts as absent.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rolloupe.formats.reading.tables.zip_archives import Tables, integers, taken

Row = dict[str, Any]

NO_ID: Final = -(2**62)

RAW = frozenset(("raw_string",))
"""A whole sample in one text, as long as all other columns together: read only with a single sample."""

MAX_SAMPLES = 2**22
MAX_PROMPTS = 2**20
"""A table with more samples or prompts is not read. A block of 500 steps with 1,024 groups of 4 has half of both."""

MAX_ROWS = 20_000
"""Number of rows of a table to read for one sample."""


class Kind(NamedTuple):
    """One of the five forms of the tables about samples."""

    suffix: str
    is_eval: bool = False
    is_trained: bool = False
    is_cancelled: bool = False


KINDS: Final = (
    Kind("", is_trained=True),
    Kind("_kept", is_trained=True),
    Kind("_discarded"),
    Kind("_cancelled", is_cancelled=True),
    Kind("_eval", is_eval=True),
)

ABOUT = (
    "generations", "env_responses", "tool_calls", "rollouts_metrics", "golden_answers", "info_turns", "sample_tags",
    "turn_metrics",
)  # fmt: skip
"""The tables with rows about samples."""


class Facts(NamedTuple):
    """A sample's own row, that of its prompt, and by table the rows about it, in their order."""

    row: Row
    prompt: Row
    about: dict[str, list[Row]]
    cut: list[str]
    """Tables with too many rows, of which some were left out."""


def name_of(table: str, kind: Kind) -> str:
    """The name of a table in one of its forms."""
    return table + kind.suffix


def kind_of(table: str) -> Kind | None:
    """The form of a `samples_data` table, by its name."""
    return next((kind for kind in KINDS if name_of("samples_data", kind) == table), None)


class Index(NamedTuple):
    """The rows of a table in the order of their samples."""

    table: pa.Table
    ids: np.ndarray
    order: np.ndarray

    def of(self, sample: int) -> np.ndarray:
        """The numbers of the rows of a sample, ascending."""
        low, high = np.searchsorted(self.ids, (sample, sample + 1))
        return np.sort(self.order[low : min(high, low + MAX_ROWS)])

    def count(self, sample: int) -> int:
        """The number of rows of a sample."""
        low, high = np.searchsorted(self.ids, (sample, sample + 1))
        return int(high - low)


class KindTables:
    """All tables of one form in one archive, ready for look-ups by sample."""

    def __init__(self, tables: Tables, kind: Kind) -> None:
        self.kind = kind
        self.samples = tables.table(name_of("samples_data", kind), RAW, MAX_SAMPLES)
        self.ids = np.empty(0, dtype=np.int64) if self.samples is None else integers(self.samples, "sample_id", NO_ID)
        self.tables = tables
        self._prompts = tables.table(name_of("prompts", kind), most=MAX_PROMPTS)
        self._prompt_rows = self._index_prompts()
        self._about = {name: found for name in ABOUT if (found := self._index(name)) is not None}

    def _index(self, name: str) -> Index | None:
        table = self.tables.table(name_of(name, self.kind))
        if table is None:
            return None
        ids = integers(table, "sample_id", NO_ID)
        order = np.argsort(ids, kind="stable")
        return Index(table, ids[order], order)

    def _prompt_key(self) -> tuple[str, ...]:
        return ("step", "sample_idx") if self.kind.is_eval else ("group_id",)

    def _index_prompts(self) -> dict[tuple[Any, ...], int]:
        if self._prompts is None:
            return {}
        columns = [integers(self._prompts, name, NO_ID).tolist() for name in self._prompt_key()]
        if self.kind.is_eval:
            columns.append(texts(self._prompts, "eval_name"))
        return {key: number for number, key in enumerate(zip(*columns, strict=True))}

    def nth_without_id(self, number: int) -> int:
        """The ordinal, from 1 on, of a sample without an id within its group."""
        assert self.samples is not None
        groups = integers(self.samples, "group_id", 0)
        return int(((groups == groups[number]) & (self.ids < 0))[: number + 1].sum())

    def facts(self, numbers: np.ndarray, *, raw: bool = False) -> list[Facts]:
        """All rows about some samples, given by the numbers of their rows, ascending."""
        if self.samples is None:
            return []
        rows = taken(self.samples, numbers)
        about: list[dict[str, list[Row]]] = [{} for _ in rows]
        ids = [int(self.ids[number]) for number in numbers]
        for name, index in self._about.items():
            self._share(name, index, ids, about)
        if raw:
            self._add_raw(rows, numbers)
        prompts = self._prompts_of(rows)
        cut = [[name for name, index in self._about.items() if index.count(one) > MAX_ROWS] for one in ids]
        return [Facts(*four) for four in zip(rows, prompts, about, cut, strict=True)]

    def weights(self, numbers: np.ndarray) -> list[int]:
        """The number of rows about each of some samples."""
        found = np.ones(len(numbers), dtype=np.int64)
        for index in self._about.values():
            low = np.searchsorted(index.ids, self.ids[numbers])
            found += np.minimum(np.searchsorted(index.ids, self.ids[numbers], side="right") - low, MAX_ROWS)
        return [int(number) for number in found]

    @staticmethod
    def _share(name: str, index: Index, ids: Sequence[int], about: list[dict[str, list[Row]]]) -> None:
        row_numbers = [index.of(one) if one >= 0 else np.empty(0, dtype=np.int64) for one in ids]
        wanted = np.unique(np.concatenate(row_numbers)) if row_numbers else np.empty(0, dtype=np.int64)
        if not len(wanted):
            return
        rows = dict(zip(wanted.tolist(), taken(index.table, wanted), strict=True))
        for found, numbers in zip(about, row_numbers, strict=True):
            if len(numbers):
                found[name] = [rows[number] for number in numbers.tolist()]

    def _prompts_of(self, rows: Sequence[Row]) -> list[Row]:
        if self._prompts is None:
            return [{} for _ in rows]
        names = (*self._prompt_key(), "eval_name") if self.kind.is_eval else self._prompt_key()
        places = [self._prompt_rows.get(tuple(row.get(name) for name in names)) for row in rows]
        wanted = np.unique(np.array([place for place in places if place is not None], dtype=np.int64))
        found = dict(zip(wanted.tolist(), taken(self._prompts, wanted), strict=True))
        return [found.get(place, {}) if place is not None else {} for place in places]

    def _add_raw(self, rows: Sequence[Row], numbers: np.ndarray) -> None:
        table = self.tables.table(name_of("samples_data", self.kind), most=MAX_SAMPLES)
        if table is not None and "raw_string" in table.column_names:
            for row, raw_column in zip(rows, taken(table.select(["raw_string"]), numbers), strict=True):
                row.update(raw_column)


def texts(table: pa.Table, name: str) -> list[str]:
    """A column as texts; all empty without such a column."""
    if name not in table.column_names:
        return [""] * table.num_rows
    rows = taken(table.select([name]), np.arange(table.num_rows))
    return [value if isinstance(value := row[name], str) else "" for row in rows]
