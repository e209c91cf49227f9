"""One record of a prime-rl token export: its arrays as columns, and derived values.

A value belongs to the token at its index, and only under the loss mask: elsewhere the trainer leaves dummies, and for
the first token a probability across a packing boundary. Neither is ever shown or averaged.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rolloupe import text, tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.model import Part, TokenSeries, Turn

PROBABILITIES = {"inference_prob": "sampling_probability", "trainer_prob": "probability"}
"""Keys of a token in the first shape, with the names of the series."""

OF_THE_FIRST = {
    "id": "token_ids", "position": "position_ids", "advantage": "advantages", "reward": "rewards",
    "inference_logprob": "inference_logprobs", "trainer_logprob": "trainer_logprobs",
    **PROBABILITIES,
}  # fmt: skip
"""Keys of a token in the first shape, a list of objects, with their names in later shapes."""

SERIES = (
    "trainer_logprobs", "inference_logprobs", "advantages", "entropy", "importance_ratio", "log_importance_ratio",
    "mismatch_kl", "prob_delta", "is_masked", "is_masked_high", "is_masked_low", "rl_weights", "ce_weights",
    "ref_kl_weights", "rewards", "probability", "sampling_probability", "sample_kl_trainer_to_inference",
    "sample_kl_inference_to_trainer",
)  # fmt: skip
AT_SAMPLING = "inference_logprobs"
"""Every other format calls these `logprobs`: those of the policy that sampled."""

OF_TRAINER = (
    "trainer_logprobs", "entropy", "importance_ratio", "log_importance_ratio", "mismatch_kl", "prob_delta",
    "is_masked", "is_masked_high", "is_masked_low", "probability", "sample_kl_trainer_to_inference",
    "sample_kl_inference_to_trainer",
)  # fmt: skip
"""Values that the trainer computes: garbage for the first token of a sequence, whatever the mask."""

MAX_TURNS = 5_000
"""Maximum number of mask spans that become turns; the rest of a sequence is one turn."""

BY_MASK = "a turn for each span of the loss mask"
MEANS = ("entropy", "importance_ratio", "log_importance_ratio", "mismatch_kl", "prob_delta", "trainer_logprobs")
COUNTS = ("is_masked", "is_masked_high", "is_masked_low")
NUMBERS = ("rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "schema_version")
ARRAYS = {"tokens", "token_ids", "position_ids", "loss_mask", *SERIES}

Mask = NDArray[np.bool_]


class TokenColumns:
    """The arrays of a record, cut to one length, and absent outside the mask."""

    def __init__(self, record: Record) -> None:
        self._record = record
        raw_ids = record.get("token_ids")
        ids = _integers(raw_ids) if isinstance(raw_ids, list) else []
        mask = tokens.read_floats(record.get("loss_mask"))
        flags = np.zeros(0, dtype=np.bool_) if mask is None else tokens.counts(mask)
        present = {key: length for key in ARRAYS if (length := tokens.length(record.get(key))) is not None}
        lengths = {key: length for key, length in present.items() if key != "tokens" and length}
        self.length, self.notes = tokens.aligned(lengths)
        if not len(flags) and self.length:
            self.notes.append("no loss_mask: nothing says which tokens were sampled, so no value is shown")
        if not ids and self.length:
            self.notes.append("no token_ids: values are shown without text")
        self.ids = ids[: self.length]
        self._floats: dict[str, tokens.Floats | None] = {}
        self.mask: Mask = np.zeros(self.length, dtype=np.bool_)
        self.mask[: len(flags)] = flags[: self.length]
        first = int(self.mask.argmax()) if len(self.mask) else 0
        self._first = first if self.mask[first:].all() else None
        """From where on all tokens are under the mask, as mostly those of a response are; None if others follow."""

    def floats(self, key: str) -> tokens.Floats | None:
        """A column as float64, shape (T,), NaN outside the mask; None if it is not an array."""
        if key not in self._floats:
            self._floats[key] = self._masked(key)
        return self._floats[key]

    def stored(self, key: str) -> tokens.Floats | None:
        """A column as stored, shape (T,), garbage included: for writers, never for display."""
        found = tokens.read_floats(self._record.get(key))
        return None if found is None else found[: self.length]

    def _masked(self, key: str) -> tokens.Floats | None:
        found = self.stored(key)
        if found is None:
            return None
        if self._first is None or len(found) < self.length:
            values = np.where(self.mask, found, np.nan)
        else:  # in half the time
            values = np.concatenate([np.full(self._first, np.nan), found[self._first :]])
        if key in OF_TRAINER:
            values[:1] = np.nan
        return values


def _integers(values: list[object]) -> list[int]:
    """Token ids; -1 for an entry that is not an id."""
    if set(map(type, values)) == {int}:
        whole = cast("list[int]", values)
        if min(whole) >= -fields.MAX_INT64 and max(whole) <= fields.MAX_INT64:
            return whole
    return [-1 if (found := fields.integer(value)) is None else found for value in values]


def columns_of(record: Record) -> TokenColumns:
    """Read the columns of a record. Raises `Unusable` for a record that is not a sample."""
    if "token_ids" not in record and "tokens" not in record:
        raise Unusable("an object without token_ids or tokens is no sample")
    objects = record.get("tokens")
    if isinstance(record.get("token_ids"), list) or not isinstance(objects, list):
        return TokenColumns(record)
    rows = [one if isinstance(one, dict) else {} for one in objects]
    keys = dict.fromkeys(key for row in rows for key in row if key in OF_THE_FIRST or key in ARRAYS)
    return TokenColumns({**record, **{OF_THE_FIRST.get(key, key): [row.get(key) for row in rows] for key in keys}})


def metrics_of(record: Record, columns: TokenColumns) -> dict[str, float]:
    """Return the numbers of a record that are sample metrics, and metrics derived from its columns."""
    metrics = {key: float(number) for key in NUMBERS if (number := fields.integer(record.get(key))) is not None}
    metrics.pop("schema_version", None)
    if record.get("export_step") is not None and (step := fields.number(record.get("step"))) is not None:
        metrics["trainer_step"] = step
    for key in MEANS:
        values = columns.floats(key)
        if values is not None and (mean := tokens.nan_mean(values)) is not None:
            metrics[key] = mean
    gaps = columns.floats("log_importance_ratio")
    if gaps is not None and (mean := tokens.nan_mean(np.abs(gaps))) is not None:
        metrics["abs_log_importance_ratio"] = mean
    divergence = columns.floats("mismatch_kl")
    if divergence is not None and not np.isnan(divergence).all():
        metrics["mismatch_kl_max"] = float(np.nanmax(divergence))
    for key in COUNTS:
        values = columns.floats(key)
        if values is not None and (count := tokens.nan_sum(values)) is not None:
            metrics[key] = count
    return metrics | _weighted(columns)


def token_series_of(columns: TokenColumns) -> list[TokenSeries]:
    """The token series of a sample, the loss mask first."""
    found = [TokenSeries(name="loss_mask", values=tokens.packed(columns.mask.astype(np.float64)))]
    for name, values in series_of(columns).items():
        stored = columns.stored(AT_SAMPLING if name == "logprobs" else name)
        beside = None if stored is None else tokens.beside(stored, values)
        found.append(TokenSeries(name=name, values=tokens.packed(values), stored=beside))
    return found


def series_of(columns: TokenColumns) -> dict[str, tokens.Floats]:
    """The token series by name, without those that have no value at all."""
    read = ((name, columns.floats(name)) for name in SERIES)
    found = {"logprobs" if name == AT_SAMPLING else name: values for name, values in read if values is not None}
    return {name: values for name, values in found.items() if not _is_empty(values)}


def _is_empty(values: tokens.Floats) -> bool:
    """True without a value: the last token tells first, for it is mostly trained."""
    return not len(values) or bool(np.isnan(values[-1]) and np.isnan(values).all())


def tokens_of(record: Record) -> tokens.SampleTokens:
    """Return the tokens of a sample. Raises `Unusable` for a record that is not a sample."""
    found = record.get("token_ids")
    columns = columns_of(record)
    ids = _whole(found)[: columns.length] if isinstance(found, np.ndarray) else np.array(columns.ids, np.int64)
    series = {tokens.MASK: columns.mask.astype(np.float64), **series_of(columns)}
    return tokens.SampleTokens(columns.length, series, ids=ids if len(ids) else None)


def _whole(values: tokens.Floats) -> NDArray[np.int64]:
    """Numbers as token ids; -1 for one that is not an id."""
    is_id = np.isfinite(values) & (np.abs(values) < 2**53) & (values == np.floor(values))
    return np.where(is_id, values, -1).astype(np.int64)


def _weighted(columns: TokenColumns) -> dict[str, float]:
    """Count the tokens trained by cross-entropy alone. Without weights the RL loss has weight 1, others 0."""
    rl_weights, ce, ref = (columns.floats(key) for key in ("rl_weights", "ce_weights", "ref_kl_weights"))
    if ce is None or np.isnan(ce).all():
        return {}
    rl = 1.0 if rl_weights is None or np.isnan(rl_weights).all() else rl_weights
    other = 0.0 if ref is None else np.nan_to_num(ref)
    return {"ce_only": float(np.count_nonzero((ce > 0) & (rl == 0) & (other == 0)))}


def first_of(values: tokens.Floats | None) -> float | None:
    """The first finite value: rewards and advantages are the same for all tokens of a sequence."""
    if values is None or not np.isfinite(values).any():
        return None
    return float(values[np.isfinite(values)][0])


def turns_of(columns: TokenColumns, strings: Sequence[str] | None = None) -> list[Turn]:
    """A turn for each span of the mask: sampled tokens, and the tokens around them. Shows the ids without `strings`."""
    changes = np.flatnonzero(np.diff(columns.mask)) + 1
    edges = [0, *changes[: MAX_TURNS - 1].tolist(), columns.length]
    turns = []
    for start, stop in pairwise(edges):
        if start == stop:
            continue
        sampled = bool(columns.mask[start])
        role = "assistant" if sampled else "prompt" if start == 0 else "context"
        ids = [Part(kind="text", text=shown(columns.ids[start:stop]))]
        turns.append(
            Turn(
                role=role,
                parts=ids if strings is None else text.parts("".join(strings[start:stop]), role),
                origin="response" if sampled or start else "prompt",
                tokens=stop - start,
                token_start=start,
                token_stop=stop,
            )
        )
    return turns


def absences_of(columns: TokenColumns) -> list[str]:
    """Describe where values are absent, and why."""
    if not columns.mask.any():
        return []
    found = ["outside of the loss mask and at index 0 the trainer leaves dummies: no value is shown there or averaged"]
    columns_there = {key: values for key in OF_TRAINER if (values := columns.floats(key)) is not None}
    empty = [key for key, values in columns_there.items() if np.isnan(values).all()]
    if empty:
        found.append(f"null throughout, as the trainer writes what has no meaning for a sequence: {', '.join(empty)}")
    logprobs = columns_there.get("trainer_logprobs")
    missing = 0 if logprobs is None else int(np.count_nonzero(columns.mask[1:] & np.isnan(logprobs[1:])))
    if missing and "trainer_logprobs" not in empty:
        found.append(
            f"trainer_logprobs has no finite value for {missing} of the tokens under the mask: written as null"
        )
    return found


def shown(ids: list[int]) -> str:
    """Return token ids as the text that represents them while no tokenizer is known."""
    return " ".join(map(str, ids))
