"""The trainer's rows about samples: logprobs, advantages, ... from its dumps, joined with the dumps of samples.

Sources: `_build_dump_payload` of slime (`format_version` 2: a list of samples) and `save_debug_train_data` of slime and
miles (one file for each rank: a dict of columns). A row names its sample by `rollout_position`, its position in the
dump of samples, or else by `sample_index`, which tells nothing where several samples share it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.pickles import ArrayValue, NumberList, Tensor, floats_of, simple
from rolloupe.formats.reading.pickles.values import MAX_VALUES
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.slime.samples import Dump

MASK: Final = "loss_masks"
SERIES: Final = {
    MASK: "loss_mask", "rollout_log_probs": "logprobs", "log_probs": "old_logprobs", "ref_log_probs": "ref_logprobs",
    "teacher_log_probs": "teacher_logprobs", "advantages": "advantages", "returns": "returns", "values": "values",
    "kl": "kl", "entropy": "entropy", "ref_entropy": "ref_entropy", "opd_reverse_kl": "opd_reverse_kl",
}  # fmt: skip
"""Columns with a number for each token of the response, and the names of their series.

`log_probs` are those of the policy before its update, with which the loss compares.
"""

MAX_ROWS: Final = 2**19
"""Most rows of one file: a pickle may hold the same one very often."""

Lengths = tuple[int | None, int | None]


class Shard(NamedTuple):
    """The piece of each response that a rank holds; all of it if `size` is 1."""

    rank: int = 0
    size: int = 1
    is_known: bool = True
    """False for a dump from before miles recorded it."""

    @classmethod
    def of(cls, root: dict[Any, Any]) -> "Shard":
        """Read it from a dump."""
        rank, size = (fields.count(simple(root.get(key))) for key in ("cp_rank", "cp_size"))
        if rank is None or not size or root.get("qkv_format") not in (None, "thd"):
            return cls(is_known=rank is not None)
        return cls(rank, size)


class TrainRow(NamedTuple):
    """The trainer's row about one sample. Columns are read when asked for."""

    column: Callable[[str], Any]
    position: int | None
    """The position of the sample in the dump of samples."""
    sample_index: int | None
    raw_reward: Sequence[Any]
    """The rewards of the whole batch before they were normalised, by position."""
    shard: Shard

    def floats(self, key: str) -> tokens.Floats | None:
        """Return a column of numbers, shape (T,); None without it. Raises `UnreadablePickle`."""
        return floats_of(self.column(key))

    @property
    def weight(self) -> int:
        """The number of values that `advantage` reads."""
        columns = (self.column("advantages"), self.column(MASK))
        sizes = (column.size if isinstance(column, Tensor | ArrayValue) else _length(column) for column in columns)
        return min(sum(sizes), 2 * MAX_VALUES)

    @property
    def lengths(self) -> tuple[int | None, int | None]:
        """The numbers of all tokens and of those of the response."""
        total, response = (fields.count(simple(self.column(key))) for key in ("total_lengths", "response_lengths"))
        return total, response

    def names(self) -> list[str]:
        """The names of its series."""
        return [name for key, name in SERIES.items() if self.column(key) is not None]

    def metrics(self, position: int) -> dict[str, float]:
        """The rewards before and after they were normalised."""
        raw = self.raw_reward[position] if position < len(self.raw_reward) else None
        found = {
            "raw_reward": fields.number(simple(raw)),
            "normalized_reward": fields.number(simple(self.column("rewards"))),
        }
        return {name: value for name, value in found.items() if value is not None}

    def advantage(self) -> float | None:
        """The mean advantage over the tokens that are trained on: of most estimators, all have the same."""
        values, mask = self.floats("advantages"), self.floats(MASK)
        if values is None or not len(values):
            return None
        counted = mask if mask is not None and len(mask) == len(values) else None
        return tokens.nan_mean(tokens.under_mask(values, counted))


class JoinedRows(NamedTuple):
    """The rows that belong to samples, each with its sample's position, and how many belong to none, by the reason."""

    rows: list[tuple[int, int, TrainRow]]
    """The row's number in its file, the position of its sample, and the row."""
    lost: Counter[str]


def rows_of(root: Any) -> list[TrainRow]:
    """Return the rows of a dump. Raises `Unusable` for a file that holds none."""
    if not isinstance(root, dict):
        raise Unusable("no train data of slime or miles")
    shard = Shard.of(root)
    if isinstance(samples := root.get("samples"), list):
        _refuse_many(len(samples))
        raw = _list(root.get("raw_reward"))
        return [_row_of(partial(sample.get), raw, shard) for sample in samples if isinstance(sample, dict)]
    columns = root.get("rollout_data")
    if not isinstance(columns, dict):
        raise Unusable("train data without samples or columns")
    count = _length(columns.get("response_lengths"))
    _refuse_many(count)
    known: dict[int, Sequence[Any]] = {}
    lists = {
        key: known.get(id(value)) or known.setdefault(id(value), _list(value))
        for key, value in columns.items()
        if isinstance(value, list | NumberList | tuple)
    }
    raw = lists.get("raw_reward", [])
    lists = {key: value for key, value in lists.items() if len(value) >= count}
    names = {"sample_index": "sample_indices", "rollout_position": "partition"}
    return [_row_of(partial(_at, lists, names, row), raw, shard) for row in range(count)]


def _refuse_many(count: int) -> None:
    if count > MAX_ROWS:
        raise Unusable(f"{count:,} rows, and at most {MAX_ROWS:,} are read: none is")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | NumberList | tuple) else 0


def _list(value: Any) -> Sequence[Any]:
    if isinstance(value, NumberList):
        return value.values()
    return value if isinstance(value, list | tuple) else []


def _at(columns: dict[str, Sequence[Any]], names: dict[str, str], row: int, key: str) -> Any:
    found = columns.get(names.get(key, key))
    return None if found is None else found[row]


def _row_of(column: Callable[[str], Any], raw: Sequence[Any], shard: Shard) -> TrainRow:
    position, index = (fields.integer(simple(column(key))) for key in ("rollout_position", "sample_index"))
    return TrainRow(column, position, index, raw, shard)


def joined(rows: Sequence[TrainRow], dump: Dump) -> JoinedRows:
    """Join the rows of a file with the samples of the dump of the same step."""
    by_index = _positions(dump)
    found: list[tuple[int, int, TrainRow]] = []
    lost: Counter[str] = Counter()
    for number, row in enumerate(rows):
        position, reason = _position_of(row, dump, by_index)
        if position is None:
            lost[reason] += 1
        else:
            found.append((number, position, row))
    return JoinedRows(found, lost)


def _positions(dump: Dump) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position, record in enumerate(dump.samples):
        if isinstance(record, dict) and (index := fields.integer(simple(record.get("index")))) is not None:
            found.setdefault(index, []).append(position)
    return found


def _position_of(row: TrainRow, dump: Dump, by_index: dict[int, list[int]]) -> tuple[int | None, str]:
    """The position of a row's sample; None with the reason why it has none."""
    if row.position is not None:
        places = [row.position] if 0 <= row.position < len(dump.samples) else []
        name = "a rollout_position that no sample has"
    elif row.sample_index is not None:
        places, name = by_index.get(row.sample_index, []), "a sample_index that no sample has"
    else:
        return None, "neither rollout_position nor sample_index"
    if len(places) > 1:
        return None, "a sample_index that several samples share, and no rollout_position"
    if not places:
        return None, name
    record = dump.samples[places[0]]
    length = fields.count(simple(record.get("response_length"))) if isinstance(record, dict) else None
    if length is not None and row.lengths[1] not in (None, length):
        return None, "another length than their sample"
    return places[0], ""


def series_of_rows(rows: Sequence[TrainRow]) -> Iterator[tuple[str, tokens.Floats]]:
    """Yield the series of one sample, from the rows of all ranks that have it. Raises `UnreadablePickle`.

    Ranks hold the same values, or values that others lack, or, with context parallelism, pieces of the response.
    """
    for key, name in SERIES.items():
        pieces = [(row.shard, values, row.lengths) for row in rows if (values := row.floats(key)) is not None]
        if not pieces:
            continue
        if (values := whole_response(pieces)) is not None and not np.isnan(values).all():
            yield name, values


def whole_response(pieces: Sequence[tuple[Shard, tokens.Floats, Lengths]]) -> tokens.Floats | None:
    """Return the values of a response from the pieces of its ranks; None if some are missing or do not fit."""
    total, response = pieces[0][2]
    for _, values, _ in pieces:
        if response is None or len(values) == response:
            return values
    if total is None or response is None:
        return None
    by_rank = {shard.rank: values for shard, values, _ in pieces}
    size = pieces[0][0].size
    if size < 2 or set(by_rank) != set(range(size)):
        return None
    found = np.full(response, np.nan)
    for rank, values in by_rank.items():
        taken = 0
        for start, stop in offsets(total, response, rank, size):
            count = max(0, stop - start)
            if taken + count > len(values):
                return None
            found[start : start + count] = values[taken : taken + count]
            taken += count
        if taken != len(values):
            return None
    return found


def offsets(total: int, response: int, rank: int, size: int) -> list[tuple[int, int]]:
    """Return where in the response the two pieces of a rank begin and end."""
    chunk = -(-total // (2 * size))
    first = total - response - 1
    found = []
    for number in (rank, 2 * size - 1 - rank):
        start, stop = max(number * chunk, first), min((number + 1) * chunk, total - 1)
        found.append((start - first, max(start, stop) - first))
    return found
