"""The token series of a sample: copies of the trainer's arrays, counts and facts about them, and their Parquet part.

NumPy and torch are recognised by the methods of their objects, so torch need not be installed.
"""

import contextlib
import functools
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.storage import atomic

Array = NDArray[np.float32] | NDArray[np.int32]


def array(values: object) -> Array:
    """Copy one number for each token to float32, or to int32 for whole numbers and truth values; shape (T,).

    Takes lists, and NumPy and torch arrays of any type and device; None among the numbers becomes NaN. Raises
    `TypeError` and `ValueError` for other values, and for more than one axis of a length other than 1.
    """
    if hasattr(values, "detach"):
        values = array_of_tensor(values)
    if isinstance(values, list) and values and type(values[0]) is float:
        # twice as fast as NumPy, and an error if not all are numbers
        with contextlib.suppress(Exception), np.errstate(over="ignore"):
            return np.frombuffer(struct.pack(f"{len(values)}d", *values)).astype(np.float32)
    given = np.asarray(values)
    if given.dtype == object and isinstance(values, (list, tuple)):
        given = np.asarray([np.nan if value is None else value for value in values])
    if given.ndim != 1:
        if given.size != max(given.shape, default=1):
            raise ValueError(f"an array of shape {given.shape}: expected one number for each token")
        given = given.reshape(-1)
    if given.dtype.kind in "iub":
        limits = np.iinfo(np.int32)
        if given.dtype.itemsize < 4 or not given.size or (given.min() >= limits.min and given.max() <= limits.max):
            return given.astype(np.int32)
    if given.dtype == np.float32:
        return given.copy()
    if given.dtype.kind not in "fiub" and given.size:
        raise TypeError(f"an array of {given.dtype} holds no numbers")
    with np.errstate(over="ignore"):
        return given.astype(np.float32)


def array_of_tensor(tensor: Any) -> NDArray[Any]:
    """Return a tensor of torch on any device as an array; types less precise than float32 become float32."""
    tensor = tensor.detach()
    return np.asarray((tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy())


def weight(value: object) -> int:
    """Return the approximate size of a plain value in memory, in bytes."""
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(weight(key) + weight(member) for key, member in value.items())
    return sys.getsizeof(value) + (sum(map(weight, value)) if isinstance(value, list) else 0)


IDS = "token_ids"
MASK = "loss_mask"


def counts_of(
    arrays: Mapping[str, Array], prompt_tokens: int | None, response_tokens: int | None, pieces: Sequence[str] | None
) -> dict[str, int]:
    """Return `prompt_tokens` and `response_tokens`, as given or derived from the arrays.

    A series shorter than `token_ids` covers the response; if all have the same length, the loss mask shows where the
    response begins.
    """
    ids, mask = arrays.get(IDS), arrays.get(MASK)
    lengths = [len(values) for name, values in arrays.items() if name != IDS]
    shortest = min(lengths, default=None)
    if ids is not None and shortest is not None and shortest > len(ids):
        shortest = None  # a series longer than all tokens does not cover the response
    response = response_tokens if response_tokens is not None else len(pieces) if pieces is not None else None
    if response is None and ids is not None and prompt_tokens is not None:
        response = len(ids) - prompt_tokens
    if response is None and mask is not None and shortest == len(mask) and mask.any():
        response = len(mask) - int(np.argmax(mask != 0))
    response = shortest if response is None else response
    prompt, whole = prompt_tokens, max(lengths, default=0) if ids is None else len(ids)
    if prompt is None and response is not None and response < whole:
        prompt = whole - response
    counts = {"prompt_tokens": prompt, "response_tokens": response}
    return {name: count for name, count in counts.items() if count is not None and count >= 0}


def lengths_of(arrays: Mapping[str, Array], counts: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """Return the valid lengths of a sample's series (all tokens, or the response), and whether they are certain."""
    prompt, response = counts.get("prompt_tokens"), counts.get("response_tokens")
    both = None if prompt is None or response is None else prompt + response
    whole = len(arrays[IDS]) if IDS in arrays else both or max(map(len, arrays.values()), default=None)
    fits = response is not None and (IDS not in arrays or response <= len(arrays[IDS]))
    lengths = frozenset(length for length in (whole, response if fits else None) if length is not None)
    return lengths, IDS in arrays or both is not None


def uneven(arrays: Mapping[str, Array], lengths: frozenset[int]) -> list[str]:
    """Return the names of series of other lengths; none if the valid lengths are unknown."""
    return [name for name, values in arrays.items() if lengths and len(values) not in lengths]


def facts(arrays: Mapping[str, Array]) -> dict[str, list[float]]:
    """Return count, sum, m2, min, min_at, max, max_at of the finite values by series.

    Values under the loss mask count, or without one those under the attention mask.
    """
    mask = tokens.mask_of(arrays)
    by_length: dict[int, dict[str, tokens.Floats]] = {}
    for name, values in arrays.items():
        if name != IDS:
            counted = tokens.under_mask(values, None if name in tokens.MASKS else mask)
            by_length.setdefault(len(values), {})[name] = counted
    by_name = {name: found for group in by_length.values() for name, found in tokens.facts_of(group).items()}
    return {name: [*msgspec.structs.astuple(by_name[name])] for name in arrays if name in by_name}


ROW_GROUP_VALUES = 2**20
"""Approximate number of values in a row group, which readers decode whole for one sample."""


@functools.cache
def import_arrow() -> None:
    """Import pyarrow early: at interpreter shutdown it is too late. The first array imports pandas, if installed."""
    import pyarrow as pa
    import pyarrow.parquet

    pa.array([0])


def write_part(path: Path, rows: Sequence[tuple[str, Mapping[str, Array]]]) -> None:
    """Write `uid` and the series of samples. Raises `OSError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"uid": pa.array([uid for uid, _ in rows], pa.string())}
    floats = []
    for name in dict.fromkeys(name for _, series in rows for name in series):
        arrays = [series.get(name) for _, series in rows]
        present = [values for values in arrays if values is not None]
        if not all(values.dtype == np.int32 for values in present):
            present = [values.astype(np.float32, copy=False) for values in present]
            floats.append(name)
        offsets = np.cumsum([0, *(0 if values is None else len(values) for values in arrays)]).astype(np.int32)
        absent = pa.array([values is None for values in arrays])
        columns[name] = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(present)), mask=absent)
    count = sum(len(values) for _, series in rows for values in series.values())
    with atomic.replacing(path) as file:
        pq.write_table(
            pa.table(columns),
            file,
            compression="zstd",
            use_dictionary=False,
            use_byte_stream_split=[f"{name}.list.element" for name in floats if "." not in name] or False,
            row_group_size=max(1, len(rows) * ROW_GROUP_VALUES // max(1, count)),
            write_statistics=False,
        )
