"""Converts a packed micro-batch of prime-rl's trainer to records of its token export.

Source: `trainer/rl/token_export.py` of prime-rl at #2551, #2592, #2641 and main of August 2026. The arrays of a batch
hold its sequences end to end; T is the total length. Torch is never imported: arrays of any library and device have
methods that detach, move and convert them.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.record.plain import member
from rolloupe.record.token_series import array_of_tensor
from rolloupe.tokens import Floats


def array_of(value: Any) -> NDArray[Any]:
    """Return an array, a tensor, a list or a number as an array of shape (N,); bfloat16 becomes float32."""
    return np.asarray(array_of_tensor(value) if hasattr(value, "detach") else value).reshape(-1)


def floats_of(value: Any) -> Floats:
    """Return numbers as float64, rounded to the float32 that trainers compute in, shape (N,); None becomes NaN."""
    with np.errstate(over="ignore"):
        return array_of(value).astype(np.float64).astype(np.float32).astype(np.float64)


def numbers(values: Floats) -> list[float | None]:
    """Return numbers for JSON: finite ones as the shortest text of their float64, the others as null."""
    plain: list[float | None] = values.tolist()
    if np.isfinite(values).all():
        return plain
    return [value if finite else None for value, finite in zip(plain, np.isfinite(values).tolist(), strict=True)]


VERSIONS = (1, 2, 4, 7)
NUMBERS = ("mismatch_kl", "log_importance_ratio", "importance_ratio", "prob_delta")
FLAGS = ("is_masked", "is_masked_high", "is_masked_low")
WEIGHTS = ("rl_weights", "ce_weights", "ref_kl_weights")
OF_THE_FIRST = (
    "probability", "sampling_probability", "sample_kl_trainer_to_inference", "sample_kl_inference_to_trainer",
)  # fmt: skip
"""Series of version 1."""

OTHER_NAMES = {
    "token_ids": ("token_ids", "input_ids"), "trainer_logprobs": ("trainer_logprobs", "logprobs"),
    "rewards": ("rewards", "reward"), "advantages": ("advantages", "advantage"),
}  # fmt: skip
"""Names of a column in a batch; the first one present counts."""

Column = list[Any]


def ratios(trainer: Floats, sampler: Floats) -> dict[str, Floats]:
    """Compare two policies by their logprobs; the shapes are (T,)."""
    gap = tokens.log_ratio(trainer, sampler)
    columns = tokens.mismatch_kl(gap), gap, tokens.importance_ratio(gap), tokens.prob_delta(trainer, sampler)
    return dict(zip(NUMBERS, columns, strict=True))


class PackedBatch:
    """A packed batch: its columns, each of length T, and the bounds of its sequences. Padding is not a sequence.

    The loss's `rule` gives the flags; it is None for any mask other than DPPO's.
    """

    def __init__(self, batch: Any, version: int, rule: tokens.MaskRule | None, pad_token_id: int | None) -> None:
        self._batch = batch
        self._version = version
        self._pad = pad_token_id
        self.ids = array_of(self._need("token_ids")).astype(np.int64)
        self.length = len(self.ids)
        self.mask = self._sized("loss_mask", array_of(self._need("loss_mask")).astype(np.bool_))
        self.positions = self._sized("position_ids", array_of(self._need("position_ids")).astype(np.int64))
        self.mode = str(member(batch, "training_mode", None) or "rl")
        names = member(batch, "env_names")
        self._env_names = None if names is None or isinstance(names, str) else [str(name or "") for name in names]
        self._restarts = self._bounds()
        """The bounds of all sequences, with their padding and with sequences of padding alone."""
        bounds = [(start, self._unpadded(start, stop)) for start, stop in self._restarts] if self.mask.any() else []
        self.bounds = [(start, stop) for start, stop in bounds if stop - start > 1 or self._is_trained((start, stop))]
        """The bounds of the sequences without padding. One untrained token alone is padding, too."""
        if self.bounds and self._env_names is not None and len(self._env_names) != self.length:
            self._env_names = self._of_tokens("env_names", np.array(self._env_names, dtype=object), "").tolist()
        self.columns = self._columns(rule) if self.bounds else {}

    def sequences(self) -> Iterator[tuple[int, slice]]:
        """Yield the number and the extent, without padding, of each sequence that has a token to train on."""
        for place, bounds in enumerate(self.bounds):
            if self._is_trained(bounds):
                yield place, slice(*bounds)

    def env_name(self, extent: slice) -> str | None:
        """Return the first environment name in a sequence."""
        if self._env_names is None:
            name = member(self._batch, "env_name", member(self._batch, "env_names"))
            return name if isinstance(name, str) and name else None
        return next((name for name in self._env_names[extent] if name), None)

    def _need(self, name: str) -> Any:
        value = self._find(name)
        if value is None:
            raise ValueError(f"the batch has no {' or '.join(OTHER_NAMES.get(name, (name,)))}")
        return value

    def _find(self, name: str) -> Any:
        names = OTHER_NAMES.get(name, (name,))
        return next((value for known_as in names if (value := member(self._batch, known_as)) is not None), None)

    def _sized(self, name: str, values: Any) -> Any:
        if len(values) != self.length:
            raise ValueError(f"{name} has {len(values)} elements, token_ids {self.length}")
        return values

    def _bounds(self) -> list[tuple[int, int]]:
        """Return the bounds of sequences: the batch's own, else each position that is 0 or falls starts a sequence."""
        lengths = member(self._batch, "sequence_lengths")
        if lengths is not None:
            edges = [0, *np.cumsum(array_of(lengths).astype(np.int64)).tolist()]
            if edges[-1] != self.length:
                raise ValueError(f"sequence_lengths add up to {edges[-1]}, token_ids has {self.length}")
        else:
            resets = np.flatnonzero((self.positions == 0) | (np.diff(self.positions, prepend=0) < 0))
            edges = sorted({0, *resets.tolist(), self.length})
        return list(pairwise(edges))

    def _unpadded(self, start: int, stop: int) -> int:
        """Return the end of a sequence without padding: untrained tokens that have no environment, or pad tokens."""
        if self._env_names is not None and len(self._env_names) == self.length:
            padding = np.array([name == "" for name in self._env_names[start:stop]], dtype=np.bool_)
        elif self._pad is not None:
            padding = self.ids[start:stop] == self._pad
        else:
            attended = member(self._batch, "attention_mask")
            known = np.ones(self.length, np.bool_) if attended is None else array_of(attended).astype(np.bool_)
            padding = ~known[start:stop]
        places = np.flatnonzero(~padding | self.mask[start:stop])
        return start + int(places[-1]) + 1 if places.size else start

    def _is_trained(self, bounds: tuple[int, int]) -> bool:
        return bool(self.mask[slice(*bounds)].any())

    def _of_tokens(self, name: str, values: Any, nothing: Any) -> Any:
        """Give each token the value of its sequence.

        If padding is not marked, the values may omit untrained sequences at the end, or all untrained sequences.
        """
        is_trained = [self._is_trained(bounds) for bounds in self.bounds]
        without_end = self.bounds[: len(is_trained) - is_trained[::-1].index(True)]
        trained = [bounds for bounds, counts in zip(self.bounds, is_trained, strict=True) if counts]
        kinds = (self.bounds, without_end, trained, self._restarts)
        bounds = next((kind for kind in kinds if len(kind) == len(values)), None)
        if bounds is None:
            raise ValueError(
                f"{name} has {len(values)} elements: expected one for each of {self.length} tokens or "
                f"{len(self.bounds)} sequences"
            )
        of_tokens = np.full(self.length, nothing, dtype=values.dtype)
        for (start, stop), value in zip(bounds, values, strict=True):
            of_tokens[start:stop] = value
        return of_tokens

    def _columns(self, rule: tokens.MaskRule | None) -> dict[str, Column]:
        """Return the layout's columns by name, in its order."""
        columns: dict[str, Column] = {
            "token_ids": self.ids.tolist(),
            "position_ids": self.positions.tolist(),
            "loss_mask": self.mask.tolist(),
            "advantages": self._numbers(self._spread("advantages", sampled_only=self._version == 7)),
        }
        if self._version != 7:
            columns["rewards"] = self._numbers(self._spread("rewards"))
        for name in ("inference_logprobs", "trainer_logprobs", "entropy"):
            columns[name] = self._numbers(self._floats(name))
        columns |= self._ratios(rule)
        if self._version == 7:
            columns |= {name: self._numbers(self._floats(name)) for name in WEIGHTS}
        return columns

    def _floats(self, name: str) -> tokens.Floats | None:
        value = self._find(name)
        floats: tokens.Floats | None = None if value is None else self._sized(name, floats_of(value))
        return floats

    def _spread(self, name: str, *, sampled_only: bool = False) -> tokens.Floats | None:
        """Return a column of one value for each token, for each sequence, or for all, spread over the tokens."""
        value = self._find(name)
        if value is None:
            return None
        given = floats_of(value)
        if len(given) == self.length:
            return given
        spread = np.repeat(given, self.length) if len(given) == 1 else self._of_tokens(name, given, np.nan)
        return np.where(self.mask, spread, 0.0) if sampled_only else spread

    def _numbers(self, values: tokens.Floats | None) -> Column:
        return [None] * self.length if values is None else numbers(values)

    def _ratios(self, rule: tokens.MaskRule | None) -> dict[str, Column]:
        """Return ratios and flags, recorded in the batch or computed; null if the policy sampled none of its tokens."""
        is_meaningless = self.mode == "sft"
        if self._version == 7:
            weights, reference = self._floats("rl_weights"), self._floats("ref_kl_weights")
            is_meaningless = weights is not None and not weights.any() and (reference is None or not reference.any())
        columns: dict[str, Column] = {}
        trainer, sampler = self._floats("trainer_logprobs"), self._floats("inference_logprobs")
        numbers_of = {name: values for name in NUMBERS if (values := self._floats(name)) is not None}
        if trainer is not None and sampler is not None and not is_meaningless:
            computed = {name: floats_of(values) for name, values in ratios(trainer, sampler).items()}
            numbers_of = computed | numbers_of
            advantages = self._spread("advantages")
            if rule is not None and advantages is not None:
                flags = rule.flags_of(numbers_of["prob_delta"], advantages, self.mask)
                columns = {name: values.tolist() for name, values in zip(FLAGS, flags, strict=True)}
        for name in FLAGS:
            if (value := self._find(name)) is not None:
                flags_given = self._sized(name, array_of(value)).tolist()
                columns[name] = [None if flag is None or flag != flag else bool(flag) for flag in flags_given]
        columns |= {name: numbers(values) for name, values in numbers_of.items()}
        return {name: columns.get(name, [None] * self.length) for name in (*NUMBERS, *FLAGS)}


_OF_A_TOKEN = {
    "id": "token_ids", "position": "position_ids", "loss_mask": "loss_mask", "advantage": "advantages",
    "reward": "rewards", "entropy": "entropy", "mismatch_kl": "mismatch_kl",
    "log_importance_ratio": "log_importance_ratio", "sample_kl_trainer_to_inference": "log_importance_ratio",
    "sample_kl_inference_to_trainer": "sample_kl_inference_to_trainer", "importance_ratio": "importance_ratio",
    "prob_delta": "prob_delta", "inference_logprob": "inference_logprobs", "trainer_logprob": "trainer_logprobs",
    **{name: name for name in (*FLAGS, "inference_prob", "trainer_prob")},
}  # fmt: skip
"""The keys of a token in version 1, in order, with their columns."""


def objects(columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """Return the tokens of a sequence in the form of version 1: one object for each token."""
    known = {
        **columns,
        "sample_kl_inference_to_trainer": [None if gap is None else -gap for gap in columns["log_importance_ratio"]],
        "inference_prob": [*map(_probability, columns["inference_logprobs"])],
        "trainer_prob": [*map(_probability, columns["trainer_logprobs"])],
    }
    rows = zip(*(known[name] for name in _OF_A_TOKEN.values()), strict=True)
    return [{"index": index, **dict(zip(_OF_A_TOKEN, row, strict=True))} for index, row in enumerate(rows)]


def _probability(logprob: float | None) -> float | None:
    return None if logprob is None or logprob > 709 else math.exp(logprob)
