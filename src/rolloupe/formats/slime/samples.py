"""The samples of a dump, as rows and whole, and the trainer's rows about them.

slime, miles and Relax share the fields of slime's `Sample.to_dict` (`utils/types.py`). Fields were added over time:
each is read if present.

The trainer's rows (logprobs, advantages, ...) are those of `_build_dump_payload` of slime (`format_version` 2: a list
of samples) and of `save_debug_train_data` of slime and miles (one file for each rank: a dict of columns). A row names
its sample by `rollout_position`, its position in the dump of samples, or else by `sample_index`, unless several
samples share it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.pickles.json_values import CHARACTERS, MANY, ValueBudget, as_json
from rolloupe.formats.reading.pickles.torch_files import torch_file
from rolloupe.formats.reading.pickles.values import MAX_VALUES, ArrayValue, Blob, NumberList, Tensor, floats_of, simple
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.token_texts import ids_of, series_of
from rolloupe.model import Location, Locator, Sample, SampleRow

PART: Final = "samples"

SERIES: Final = {
    "loss_mask": "loss_mask", "rollout_log_probs": "logprobs", "teacher_log_probs": "teacher_logprobs",
    "opd_reverse_kl": "opd_reverse_kl",
}  # fmt: skip
"""Keys of lists with a number for each token of the response, and the names of their series."""

REMOVED: Final = "remove_sample"
_PLACED: Final = frozenset((
    *SERIES, "group_index", "index", "prompt", "tokens", "response", "response_length", "label", "reward", "status",
    "decoded_tokens", REMOVED,
))  # fmt: skip
VALUES_OF_ROW: Final = 128
"""The cost of a sample in the budget of its file, on top of its values: a list may repeat one sample many times."""

VALUES_OF_MEMBER: Final = 4
"""The cost of the name and of the value of each member: both become metrics."""

CHARACTERS_OF_ROW: Final = 4
"""This many characters of a row's texts cost as much as a value: the index keeps these texts."""

_EMPTY: Final[tuple[object, ...]] = (None, [], {}, "", False)


class _Names:
    """The groups and indices of the samples so far."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.first: list[tuple[str, str]] = []
        self.seen: Counter[tuple[str, str]] = Counter()


class Dump:
    """The samples of one dump, and their names, which are unique within it."""

    def __init__(self, root: Any, size_bytes: int = 0, names: _Names | None = None) -> None:
        """Raises `Unusable` for a root that holds no samples; `size_bytes` is the size of its file."""
        samples = root.get("samples") if isinstance(root, dict) else None
        if not isinstance(samples, list):
            raise Unusable("a file of PyTorch without samples")
        self.samples: list[Any] = samples
        self.step = parsers.integer(_small(root.get("rollout_id")))
        self._names = names or _Names()
        self.budget = ValueBudget(size_bytes)

    @classmethod
    def at(cls, location: Location, *, is_for_one: bool = False) -> "Dump":
        """Read the dump at a location. Raises OSError, `UnreadablePickle` and `Unusable`.

        With `is_for_one`, a reader of single samples, the names are cached with the file. A scan makes its own.
        """
        file = torch_file(location)
        return cls(file.root, file.size_bytes, file.derived.setdefault("names", _Names()) if is_for_one else None)

    def json(self, value: Any) -> Any:
        return as_json(value, budget=self.budget)

    def name(self, position: int) -> tuple[str, str]:
        """Return group and index of a sample; a number makes names unique. Raises `UnreadablePickle`."""
        names = self._names
        with names.lock:
            while (at := len(names.first)) <= position:
                record = self.samples[at]
                own = "", str(at)
                objects = [record, record.get("metadata")] if isinstance(record, dict) else []
                pairs = [pair for value in objects if isinstance(value, dict) for pair in value.items()]
                texts = [text for pair in pairs for text in pair if isinstance(text, str | bytes | Blob)]
                lengths = (text.length if isinstance(text, Blob) else len(text) for text in texts)
                characters = sum(length // CHARACTERS for length in lengths)
                self.budget.spend(VALUES_OF_ROW + 2 * VALUES_OF_MEMBER * len(pairs) + characters)
                if isinstance(record, dict):
                    group, index = (parsers.name(_small(record.get(key))) for key in ("group_index", "index"))
                    group = group or parsers.digest(parsers.joined(self.json(record.get("prompt"))))
                    own = group, index or str(at)
                number = f"-{names.seen[own]}" if names.seen[own] else ""
                names.first.append((own[0], own[1] + number))
                names.seen[own] += 1
            return names.first[position]


def _small(value: Any) -> Any:
    """`simple`, but None for a long text, which is neither number nor name."""
    return None if isinstance(value, Blob) else simple(value)


def _count(value: Any) -> int:
    """Return the number of values in a list, tensor or array; 0 for anything else."""
    if isinstance(value, Tensor | ArrayValue):
        return value.size
    return len(value) if isinstance(value, (list, NumberList, tuple)) else 0


def uid_of(step: int, position: int) -> str:
    """Return the name that joins the trainer's rows to a sample: its step and its position in the dump."""
    return f"{step}:{position}"


def row_of(dump: Dump, position: int, split: str, step: int) -> SampleRow:
    """Return a sample as a row. Raises `Unusable` and `UnreadablePickle`."""
    record = dump.samples[position]
    if not isinstance(record, dict) or record.keys().isdisjoint(("tokens", "response")):
        raise Unusable("an object without tokens or response is not a sample")
    group, index = dump.name(position)
    reward = parsers.reward(dump.json(simple(record.get("reward"))))
    status, status_raw = parsers.status(_small(record.get("status")))
    total, response = _count(record.get("tokens")) or None, parsers.count(_small(record.get("response_length")))
    metadata = {key: _small(value) for key, value in _named(record.get("metadata"))}
    prompt = parsers.joined(dump.json(simple(record.get("prompt"))))
    answer = parsers.joined(dump.json(simple(record.get("response"))), thoughts=True)
    dump.budget.spend((len(prompt) + len(answer)) // CHARACTERS_OF_ROW)
    short_ones = {key: value for key, value in metadata.items() if isinstance(value, str | bytes) and len(value) < MANY}
    tags = parsers.tags({f"metadata.{key}": as_json(value) for key, value in short_ones.items()})
    return SampleRow(
        split=split,
        step=step,
        group=group,
        index=index,
        ordinal=position,
        start=position,
        length=0,
        part=PART,
        reward=reward.value,
        status=status,
        status_raw=status_raw,
        prompt_tokens=None if total is None else max(0, total - (response or 0)),
        response_tokens=response,
        total_tokens=total,
        uid=uid_of(step, position) if split == "train" else "",
        discarded=REMOVED if _small(record.get(REMOVED)) is True else "",
        turns=parsers.count(metadata.get("rollout_turns")) or 1,
        metrics=_metrics(record, metadata) | reward.metrics,
        tags=tags | reward.tags,
        has_series=any(isinstance(record.get(key), (list, NumberList, Tensor)) for key in SERIES),
        prompt=prompt,
        response=answer,
    )


def _metrics(record: Record, metadata: Record) -> dict[str, float]:
    members = {text.clean(key): value for key, value in _named(record)}
    own = {key: value for key, value in members.items() if key not in _PLACED}
    numbers = own | {f"metadata.{key}": value for key, value in metadata.items()}
    names = parsers.MetricNames()
    metrics = {
        names[name]: number
        for name, value in numbers.items()
        if not isinstance(value, bool) and (number := parsers.number(_small(value))) is not None
    }
    versions = record.get("weight_versions")
    newest = _small(versions[-1]) if isinstance(versions, list) and versions else None
    if (version := parsers.integer(newest)) is not None:
        metrics["weight_version"] = float(version)
    return metrics


def _named(record: Any) -> list[tuple[str, Any]]:
    """Return the members of an object whose keys are texts: a pickle may have others."""
    pairs: list[tuple[object, Any]] = [*record.items()] if isinstance(record, dict) else []
    return [(key, value) for key, value in pairs if isinstance(key, str)]


def sample_of(dump: Dump, row: SampleRow, locator: Locator) -> Sample:
    """Return a whole sample without the trainer's data about it. Raises `UnreadablePickle`."""
    record = dump.samples[row.start]
    prompt, response = dump.json(simple(record.get("prompt"))), dump.json(simple(record.get("response")))
    strings = record.get("decoded_tokens")
    shown = [parsers.as_text(string) for string in dump.json(strings)] if isinstance(strings, list) else []
    sample = parsers.sample_of(row, locator, prompt, response)
    ids = ids_of(_floats(record, "tokens", sample))
    sample.label = parsers.as_text(dump.json(simple(record.get("label"))))
    sample.token_ids = ids
    sample.token_strings = shown[-row.response_tokens :] if row.response_tokens and len(shown) == len(ids) else []
    arrays = {name: _floats(record, key, sample) for key, name in SERIES.items()}
    sample.series, notes = series_of(arrays, len(ids), first_of(len(ids), row.response_tokens))
    sample.notes += notes
    sample.extra = _extra(dump, record, row)
    return sample


def _floats(record: Record, key: str, sample: Sample) -> tokens.Floats | None:
    """Return the numbers under a key; None for other values, or too many. Raises `UnreadablePickle`."""
    count = _count(record.get(key))
    if count > MAX_VALUES:
        sample.notes.append(f"{key} holds {count:,} values, and none is shown: at most {MAX_VALUES:,} are read")
        return None
    return floats_of(record.get(key))


def first_of(total: int, response: int | None) -> int | None:
    """Return the token at which the response of a sample begins; None if its record does not show it."""
    return None if response is None or response > total else total - response


def _extra(dump: Dump, record: Record, row: SampleRow) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    for key, value in _named(record):
        name = text.clean(key)
        is_shown = name in _PLACED
        if name == "reward":
            is_shown = parsers.is_shown_reward(dump.json(simple(value)))
        elif name in SERIES:
            is_shown = value is None or isinstance(value, (list, NumberList, Tensor))
        if is_shown:
            continue
        shown = dump.json(value)
        if name not in row.metrics and shown not in _EMPTY:
            extra[name] = shown
    return extra


def first_answer(messages: Sequence[Any], prompt: Any) -> int:
    """Return the index at which the response of a conversation begins: after the prompt, else at the first answer."""
    if isinstance(prompt, list) and len(messages) > len(prompt) and list(messages[: len(prompt)]) == prompt:
        return len(prompt)
    first = text.answer_at(messages)
    return first if first < len(messages) else 0


MASK: Final = "loss_masks"
TRAIN_SERIES: Final = {
    MASK: "loss_mask", "rollout_log_probs": "logprobs", "log_probs": "old_logprobs", "ref_log_probs": "ref_logprobs",
    "teacher_log_probs": "teacher_logprobs", "advantages": "advantages", "returns": "returns", "values": "values",
    "kl": "kl", "entropy": "entropy", "ref_entropy": "ref_entropy", "opd_reverse_kl": "opd_reverse_kl",
}  # fmt: skip
"""Columns with a number for each token of the response, and the names of their series.

`log_probs` come from the policy before its update: the loss compares with them.
"""

MAX_ROWS: Final = 2**19
"""The most rows of a file: a pickle may repeat one row many times."""

Lengths = tuple[int | None, int | None]
"""The number of all tokens of a sample, and of tokens in its response."""


class Shard(NamedTuple):
    """The piece of each response that a rank holds; all of it if `size` is 1."""

    rank: int = 0
    size: int = 1


class TrainRow(NamedTuple):
    """The trainer's row about one sample. Its columns are read on request."""

    column: Callable[[str], Any]
    position: int | None
    sample_index: int | None
    raw_reward: Sequence[Any]
    """The rewards of the whole batch before they were normalised, by position."""
    shard: Shard

    def floats(self, key: str) -> tokens.Floats | None:
        """Return a column of numbers, shape (T,); None if it is missing. Raises `UnreadablePickle`."""
        return floats_of(self.column(key))

    @property
    def weight(self) -> int:
        """The number of values that `advantage` reads."""
        return min(_count(self.column("advantages")) + _count(self.column(MASK)), 2 * MAX_VALUES)

    @property
    def lengths(self) -> Lengths:
        total, response = (parsers.count(simple(self.column(key))) for key in ("total_lengths", "response_lengths"))
        return total, response

    def names(self) -> list[str]:
        return [name for key, name in TRAIN_SERIES.items() if self.column(key) is not None]

    def metrics(self, position: int) -> dict[str, float]:
        """Return the rewards before and after they were normalised."""
        raw = self.raw_reward[position] if position < len(self.raw_reward) else None
        return parsers.numbers({"raw_reward": simple(raw), "normalized_reward": simple(self.column("rewards"))})

    def advantage(self) -> float | None:
        """Return the mean advantage of the trained tokens: with most estimators they all have the same."""
        values, mask = self.floats("advantages"), self.floats(MASK)
        if values is None or not len(values):
            return None
        counted = mask if mask is not None and len(mask) == len(values) else None
        return tokens.nan_mean(tokens.under_mask(values, counted))


JoinedRow = tuple[int, int, TrainRow]
"""The number of a row in its file, the position of its sample, and the row."""


def rows_of(root: Any) -> list[TrainRow]:
    """Return the rows of a dump. Raises `Unusable` for a file that holds none."""
    if not isinstance(root, dict):
        raise Unusable("no train data of slime or miles")
    rank, size = (parsers.count(simple(root.get(key))) for key in ("cp_rank", "cp_size"))
    shard = Shard()
    if rank is not None and size and root.get("qkv_format") in (None, "thd"):
        shard = Shard(rank, size)
    if isinstance(samples := root.get("samples"), list):
        _refuse_many(len(samples))
        raw = _list(root.get("raw_reward"))
        return [_row_of(partial(sample.get), raw, shard) for sample in samples if isinstance(sample, dict)]
    columns = root.get("rollout_data")
    if not isinstance(columns, dict):
        raise Unusable("train data without samples or columns")
    lengths = columns.get("response_lengths")
    count = _count(lengths) if isinstance(lengths, (list, NumberList, tuple)) else 0
    _refuse_many(count)
    known: dict[int, Sequence[Any]] = {}
    lists = {
        key: known.get(id(value)) or known.setdefault(id(value), _list(value))
        for key, value in columns.items()
        if isinstance(value, (list, NumberList, tuple))
    }
    raw = lists.get("raw_reward", [])
    lists = {key: value for key, value in lists.items() if len(value) >= count}
    names = {"sample_index": "sample_indices", "rollout_position": "partition"}

    def value_at(row: int, key: str) -> Any:
        column = lists.get(names.get(key, key))
        return None if column is None else column[row]

    return [_row_of(partial(value_at, row), raw, shard) for row in range(count)]


def _refuse_many(count: int) -> None:
    if count > MAX_ROWS:
        raise Unusable(f"{count:,} rows, and at most {MAX_ROWS:,} are read: none is")


def _list(value: Any) -> Sequence[Any]:
    values = value.values() if isinstance(value, NumberList) else value
    return values if isinstance(values, (list, tuple)) else []


def _row_of(column: Callable[[str], Any], raw: Sequence[Any], shard: Shard) -> TrainRow:
    position, index = (parsers.integer(simple(column(key))) for key in ("rollout_position", "sample_index"))
    return TrainRow(column, position, index, raw, shard)


def join_rows(rows: Sequence[TrainRow], dump: Dump) -> tuple[list[JoinedRow], Counter[str]]:
    """Join the rows of a file with the samples of the dump of its step; count rows without a sample, by the reason."""
    by_index: dict[int, list[int]] = {}
    for position, record in enumerate(dump.samples):
        if isinstance(record, dict) and (index := parsers.integer(simple(record.get("index")))) is not None:
            by_index.setdefault(index, []).append(position)
    tied: list[JoinedRow] = []
    lost: Counter[str] = Counter()
    for number, row in enumerate(rows):
        place, reason = _position_of(row, dump, by_index)
        if place is None:
            lost[reason] += 1
        else:
            tied.append((number, place, row))
    return tied, lost


def _position_of(row: TrainRow, dump: Dump, by_index: dict[int, list[int]]) -> tuple[int | None, str]:
    """Return the position of a row's sample; None, with the reason, if it has none."""
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
    length = parsers.count(simple(record.get("response_length"))) if isinstance(record, dict) else None
    if length is not None and row.lengths[1] not in (None, length):
        return None, "another length than their sample"
    return places[0], ""


def series_of_rows(rows: Sequence[TrainRow]) -> Iterator[tuple[str, tokens.Floats]]:
    """Yield the series of one sample, from the rows of all ranks that have it. Raises `UnreadablePickle`.

    Ranks hold the same values, values that other ranks lack or, with context parallelism, pieces of the response.
    """
    for key, name in TRAIN_SERIES.items():
        pieces = [(row.shard, values, row.lengths) for row in rows if (values := row.floats(key)) is not None]
        if not pieces:
            continue
        if (values := whole_response(pieces)) is not None and not np.isnan(values).all():
            yield name, values


def whole_response(pieces: Sequence[tuple[Shard, tokens.Floats, Lengths]]) -> tokens.Floats | None:
    """Join the pieces of a response that its ranks hold; None if some are missing or do not fit."""
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
    whole = np.full(response, np.nan)
    for rank, values in by_rank.items():
        (start, stop), (later, end) = offsets(total, response, rank, size)
        count = stop - start
        if count + end - later != len(values):
            return None
        whole[start:stop], whole[later:end] = values[:count], values[count:]
    return whole


def offsets(total: int, response: int, rank: int, size: int) -> list[tuple[int, int]]:
    """Return start and stop, within the response, of the two pieces of a rank."""
    chunk = -(-total // (2 * size))
    first = total - response - 1
    pieces = []
    for number in (rank, 2 * size - 1 - rank):
        start, stop = max(number * chunk, first), min((number + 1) * chunk, total - 1)
        pieces.append((start - first, max(start, stop) - first))
    return pieces
