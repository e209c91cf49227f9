"""Per-token arrays as frameworks store them: read from JSON, without padding, and placed on the tokens they belong to.

An array may cover the response, prompt and response, the trained tokens alone, or padding as well. One that fits none
of these is named in a note and not placed: values on the wrong tokens would be worse than none.
"""

import contextlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
_ARRAYS = (list, np.ndarray)
"""A tuple: `list | np.ndarray` would be a new object at each call."""
_PLAIN = {float, int, bool, type(None)}


def read_floats(value: object) -> Floats | None:
    """Return a decoded JSON array of numbers as float64, shape (T,); None if it is not an array or is empty.

    An element that is not a number (null, text, a list) becomes NaN; an integer beyond a float becomes an infinity. An
    array that a scan has already read is returned as it is.
    """
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list) or not value:
        return None
    try:
        return np.frombuffer(array("d", value))
    except (TypeError, OverflowError):
        pass
    if set(map(type, value)) <= _PLAIN:  # NumPy reads None as NaN, but also parses texts as numbers
        with contextlib.suppress(OverflowError):
            return np.array(value, dtype=np.float64)
    return np.array([_float(element) for element in value], dtype=np.float64)


def length(value: object) -> int | None:
    """Return the length of an array, decoded or already read; None for anything else."""
    return len(value) if isinstance(value, _ARRAYS) else None


def _float(element: object) -> float:
    if not isinstance(element, int | float):
        return math.nan
    try:
        return float(element)
    except OverflowError:
        return math.inf if element > 0 else -math.inf


def unpadded_length(tokens: Sequence[object], pad: str) -> int:
    """Return the number of tokens before the padding: up to the first pad token, if the last one is a pad token.

    Source: RLLoggingBoard's "drop padding token". Without padding at the end, nothing is dropped.
    """
    if not tokens or tokens[-1] != pad:
        return len(tokens)
    return tokens.index(pad)


UNEQUAL = "of unequal length"
"""In a note about arrays that were cut."""


def aligned(lengths: Mapping[str, int]) -> tuple[int, list[str]]:
    """Return the common length of arrays that are aligned at their starts, and a note if some are cut to it.

    `lengths` are those of the arrays by name; the shortest decides.
    """
    shortest = min(lengths.values(), default=0)
    cut = ", ".join(f"{name} has {length}" for name, length in lengths.items() if length > shortest)
    return shortest, [f"arrays {UNEQUAL}, shown up to the shortest ({shortest}): {cut}"] if cut else []


MASKS = ("loss_mask", "attention_mask")
"""Series that say which tokens count, in order of precedence; statistics leave them out."""


def mask_of(arrays: Mapping[str, T], masks: Sequence[str] = MASKS) -> T | None:
    """Return the first of some masks that is among the arrays; None without one."""
    return next((arrays[name] for name in masks if name in arrays), None)


def counts(mask: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which tokens count under a mask, shape (T,): those above 0. A weight counts its token, NaN does not."""
    with np.errstate(invalid="ignore"):
        above: NDArray[np.bool_] = mask > 0
    return above


def under_mask(values: NDArray[Any], mask: NDArray[Any] | None) -> Floats:
    """Return values as float64, shape (T,), NaN where the mask counts no token; without a mask, all of them.

    The two are aligned at their ends, since the response is last: values before the start of a mask do not count.
    """
    shown = values.astype(np.float64)
    if mask is not None:
        covered = min(len(shown), len(mask))
        shown[: len(shown) - covered] = np.nan
        shown[len(shown) - covered :][~counts(mask[len(mask) - covered :])] = np.nan
    return shown


def beside(values: Floats, shown: Floats) -> "array[float] | None":
    """Return the full values if a mask hides some of them; None if it hides nothing."""
    if np.count_nonzero(~np.isnan(values)) == np.count_nonzero(~np.isnan(shown)):
        return None
    return packed(values)


def same_end(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return two arrays cut to the length of the shorter one, aligned at their ends."""
    length = min(len(first), len(second))
    return first[len(first) - length :], second[len(second) - length :]


def finite(values: Floats) -> Floats:
    """Return the finite values."""
    finite_values: Floats = values[np.isfinite(values)]
    return finite_values


def packed(values: Floats) -> "array[float]":
    """Return values as a standard library array of doubles, without a Python object for each value."""
    return array("d", values.astype(np.float64, copy=False).tobytes())


Flags = NDArray[np.bool_]


MASK, ADVANTAGES, GROUP_ADVANTAGES = "loss_mask", "advantages", "group_advantages"


ATTENTION = "attention_mask"
LOSS_MASKS = (
    MASK, "response_mask", "action_mask", "completion_mask", "assistant_mask", "assistant_masks", "loss_masks",
    "token_loss_mask",
)  # fmt: skip
"""What frameworks call the mask of the tokens that are trained.

Sources: verl (`response_mask`), OpenRLHF (`action_mask`), TRL and verifiers (`completion_mask`), `transformers`
(`assistant_masks`), SkyRL and prime-rl (`loss_mask`), slime (`loss_masks`), NeMo-RL (`token_loss_mask`).
"""

_FLAGS = {"1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0, "1.0": 1.0, "0.0": 0.0}
_SPECIAL = re.compile(r"<[^<>]*>|\[[A-Z_ ]+\]", re.DOTALL)


class AlignedArrays(NamedTuple):
    """Arrays over the tokens of a sample, all of the shape (total,), NaN for a token without a value."""

    total: int
    series: dict[str, Floats]
    left_out: frozenset[str]
    """The names of the arrays that fit nowhere."""
    notes: list[str]


class UnpaddedSpan(NamedTuple):
    """The tokens from `start` to `stop`: those of a list that are not padding."""

    start: int
    stop: int


def inner(value: object) -> object:
    """Unwrap a list for one sample: the list in a list of one, or numbers that each lie in a list of one."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        if len(value) == 1:
            return value[0]
        if all(isinstance(inside, list) and len(inside) == 1 for inside in value):
            return [inside[0] for inside in value]
    return value


def read_mask(value: object) -> Floats | None:
    """Return a mask as float64, shape (T,), NaN for an element that is not a flag; None if it is not a list of flags.

    Flags are numbers, true and false, or texts of these.
    """
    value = inner(value)
    mask = read_floats(value)
    if mask is None or not isinstance(value, list) or not math.isnan(mask.min()):
        return mask
    flags = [_FLAGS.get(flag.strip().lower()) if isinstance(flag, str) else flag for flag in value]
    if any(isinstance(flag, (list, dict)) for flag in flags) or all(flag is None for flag in flags):
        return None
    return read_floats(flags)


def unpadded(pieces: Sequence[object], masks: Mapping[str, Floats]) -> UnpaddedSpan:
    """Return which ids or strings of tokens are not padding, by the masks that have a flag for each of them.

    Padding is one repeated token at either end, outside of every mask; a text must also look like a special token. At
    the end, a single token is enough, as every answer ends before it; at the beginning, it may belong to a prompt.
    """
    covering = [mask for mask in masks.values() if len(mask) == len(pieces)]
    if not covering or not len(pieces) or any(mask[0] > 0 and mask[-1] > 0 for mask in covering):
        return UnpaddedSpan(0, len(pieces))
    flags = [*map(counts, covering)]
    inside = np.flatnonzero(np.logical_or.reduce(flags))
    if not len(inside):
        return UnpaddedSpan(0, len(pieces))
    first, last = int(inside[0]), int(inside[-1]) + 1
    before, behind = first, len(pieces) - last
    head = _repeated(pieces[:first]) if before else 0
    tail = _repeated(pieces[: last - 1 : -1] if last else pieces[::-1]) if behind else 0
    return UnpaddedSpan(head if head > 1 else 0, len(pieces) - (tail if tail > 1 or tail == behind else 0))


def _repeated(pieces: Sequence[object]) -> int:
    """Return how often the first of some pieces follows itself at their beginning; 0 for one that cannot be padding."""
    pad = pieces[0]
    if isinstance(pad, str) and not _SPECIAL.fullmatch(pad):
        return 0
    return next((at for at, piece in enumerate(pieces) if piece != pad), len(pieces))


def place(arrays: Mapping[str, Floats], count: int | None, prompt: int | None = None) -> AlignedArrays:
    """Place arrays on the `count` tokens of a response; without a count, on as many as the arrays say.

    `prompt` is how many tokens precede the response, if that is known. All masks of `LOSS_MASKS` become the series
    `loss_mask`: if several differ, a token counts if all of them count it.
    """
    masks = {name: values for name, values in arrays.items() if name == ATTENTION or name in LOSS_MASKS}
    of_loss = [mask for name, mask in masks.items() if name != ATTENTION]
    has_gaps = any(len(mask) and math.isnan(mask.min()) for mask in of_loss)  # a missing flag makes the minimum NaN
    lengths = {*map(len, arrays.values())} | ({count} if count is not None else set())
    if len(lengths) == 1 and len(of_loss) < 2 and not has_gaps:
        series = {MASK if name in LOSS_MASKS else name: values for name, values in arrays.items()}
        return AlignedArrays(lengths.pop(), series, frozenset(), [])
    others = {name: values for name, values in arrays.items() if name not in masks}
    total = count if count is not None else _likely_count(others, masks, prompt)
    series, starts, notes = _place_masks(masks, total, prompt)
    flags = [counts(mask) for mask in series.values()]
    flags += [flags[0] & flags[1]] if len(flags) == 2 else []
    start_by_length = {len(masks[name]): start for name, start in reversed(starts.items())}
    unfit = []
    for name, values in others.items():
        further = len(values) - total
        start = further if further in (0, prompt) else start_by_length.get(len(values))
        inside = next((inside for inside in flags if np.count_nonzero(inside) == len(values)), None)
        if further >= 0 and start is not None:
            series[name] = values[start : start + total]
        elif further < 0 and inside is not None:
            series[name] = np.full(total, np.nan)
            series[name][inside] = values
        else:
            unfit.append(name)
    if unfit and not flags:  # up to the shortest: none of them can put a value on a token that was not trained
        known = {name: len(values) for name, values in others.items()} | ({} if count is None else {"tokens": count})
        total, cut = aligned(known)
        series = {name: values[:total] for name, values in others.items()}
        return AlignedArrays(total, series, frozenset(masks), notes + cut)
    if unfit:
        trained = f", {np.count_nonzero(flags[0])} of them trained," if MASK in series else ""
        named = ", ".join(f"{name} has {len(others[name])}" for name in unfit)
        which = f"nothing says to which of {total} tokens{trained} they belong"
        notes.append(f"arrays {UNEQUAL}, not shown, as {which}: {named}")
    names = dict.fromkeys(MASK if name in LOSS_MASKS else name for name in arrays)
    series = {name: series[name] for name in names if name in series}
    return AlignedArrays(total, series, frozenset((*unfit, *(masks.keys() - starts.keys()))), notes)


def _place_masks(
    masks: Mapping[str, Floats], total: int, prompt: int | None
) -> tuple[dict[str, Floats], dict[str, int], list[str]]:
    """Return the placed masks, where in each mask that fits the tokens begin, and notes."""
    starts = {n: start for n, mask in masks.items() if (start := _start(n, mask, total, prompt)) is not None}
    notes = [
        f"arrays {UNEQUAL}, not used, as nothing says to which of {total} tokens it belongs: {name} has {len(mask)}"
        for name, mask in masks.items()
        if name not in starts
    ]
    notes += [
        f"{name} has {len(masks[name])} values for {total} tokens, and could begin with any of "
        f"{len(masks[name]) - total + 1}: the last ones are taken"
        for name in starts
        if _is_loose(name, masks[name], total, prompt)
    ]
    placed = {name: masks[name][start:][:total] for name, start in starts.items()}
    attention = {ATTENTION: placed.pop(ATTENTION)} if ATTENTION in placed else {}
    return _merged_masks(placed, notes) | attention, starts, notes


def _likely_count(others: Mapping[str, Floats], masks: Mapping[str, Floats], prompt: int | None) -> int:
    """Return the likely number of tokens behind arrays of different lengths."""
    lengths = Counter(len(values) for values in others.values())
    name, mask = next(iter(masks.items()), ("", np.empty(0)))
    if not lengths or len(mask) in lengths or (prompt and len(mask) + prompt in lengths):
        return len(mask)
    likely = max(lengths, key=lambda length: (lengths[length], length))
    if not len(mask):
        return likely
    is_of_trained = _start(name, mask, likely, prompt) is None and likely == np.count_nonzero(counts(mask))
    return len(mask) if is_of_trained else likely


def _start(name: str, mask: Floats, total: int, prompt: int | None) -> int | None:
    """Return where in a mask the tokens begin; None if it does not fit them."""
    further = len(mask) - total
    if further <= 0:
        return None if further < 0 else 0
    inside = np.flatnonzero(counts(mask))
    if not len(inside):
        return further
    first, last = int(inside[0]), int(inside[-1]) + 1
    if last - first == total:
        return first
    if name == ATTENTION and prompt is not None and len(inside) > prompt + total:
        return None
    if first >= further or name == ATTENTION:  # over prompt and response
        return further
    return 0 if last <= total else None  # with padding at the end


def _is_loose(name: str, mask: Floats, total: int, prompt: int | None) -> bool:
    """Return whether the flags of a mask fit both its first and its last tokens: nothing says which are meant."""
    further = len(mask) - total
    inside = np.flatnonzero(counts(mask))
    if further <= 0 or further == prompt or not len(inside) or inside[-1] + 1 - inside[0] == total:
        return False
    return bool(inside[-1] < total and (inside[0] >= further or name == ATTENTION))


def _merged_masks(masks: Mapping[str, Floats], notes: list[str]) -> dict[str, Floats]:
    if not masks:
        return {}
    first, *_ = masks.values()
    flags = [counts(mask) for mask in masks.values()]
    differ = int(np.count_nonzero(np.logical_or.reduce(flags) & ~np.logical_and.reduce(flags)))
    if differ:
        notes.append(f"{' and '.join(masks)} differ at {differ} tokens: a token counts if all of them count it")
        first = np.where(np.logical_and.reduce(flags), first, 0.0)
    missing = int(np.count_nonzero(np.logical_or.reduce([np.isnan(mask) for mask in masks.values()])))
    if missing:
        notes.append(f"{' and '.join(masks)}: no flag for {missing} tokens, which do not count")
    return {MASK: first}
