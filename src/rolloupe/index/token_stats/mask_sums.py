"""How many tokens each rule of masks takes out, and how much of the update that is."""

from typing import NamedTuple

import msgspec
import numpy as np

from rolloupe import tokens
from rolloupe.model import RunLoss
from rolloupe.tokens import ClippedSequence, Flags, Floats, LossInputs, TokenBatch


class MaskedSums(NamedTuple):
    """Sums over trained tokens."""

    thresholds: dict[str, float]
    """Those of the rule."""
    tokens: int = 0
    masked: int = 0
    high: int = 0
    """Taken out because they had moved up too far."""
    low: int = 0
    update: float = 0.0
    """The sum of `abs(g)` if no token were taken out."""
    lost: float = 0.0
    """That of the tokens taken out."""

    def plus(self, other: "MaskedSums") -> "MaskedSums":
        """The sums over both, which have the same thresholds."""
        sums = (one + another for one, another in zip(self[1:], other[1:], strict=True))
        return MaskedSums._make([self.thresholds, *sums])


def stamp_of(loss: RunLoss | None) -> str:
    """Tells the thresholds of a run from others that it may have had before."""
    return "" if loss is None else f"{loss.rule} {sorted(loss.thresholds.items())}"


def masked_sums(batch: TokenBatch, loss: RunLoss | None) -> dict[str, MaskedSums]:
    """The sums of a batch for each rule that its series suffice for, and for the recorded flags.

    The rule of the run's loss has the run's thresholds, others have their usual ones.
    """
    inputs = batch.loss_inputs
    if inputs is None:
        return {}
    found, full = {}, _Full(inputs)
    with np.errstate(all="ignore"):
        for rule, compared in tokens.mask_rules(list(batch.series.values()), loss):
            flags = rule.flags_of(batch.series[compared].values, inputs.advantages, inputs.loss_mask)
            found[rule.name] = _sums(rule.thresholds, inputs.loss_mask, *flags, full[rule.name])
        if inputs.recorded_mask is not None:
            none, under = np.zeros(len(batch)), inputs.loss_mask
            high, low = (
                (batch.series[name].values if name in batch.series else none) == 1
                for name in ("is_masked_high", "is_masked_low")
            )
            recorded = (inputs.recorded_mask & under, high & under, low & under)
            found[tokens.RECORDED] = _sums({}, under, *recorded, full[tokens.RECORDED])
    return found


class _Full:
    """What each rule would push, in `abs(g)`, if it took no token out; rules of one ratio share it."""

    def __init__(self, inputs: LossInputs) -> None:
        self._inputs = inputs
        self._known: dict[bool, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        rule = tokens.update_rule(name, {})
        is_sequence = isinstance(rule, ClippedSequence)
        if is_sequence not in self._known:
            sizes = np.abs(tokens.full_coefficients(self._inputs, rule))
            has_all = sizes.sum() <= tokens.MAX_SIZE
            self._known[is_sequence] = sizes if has_all else np.where(tokens.is_summed(sizes), sizes, 0.0)
        return self._known[is_sequence]


def _sums(
    thresholds: dict[str, float], under: Flags, masked: Flags, high: Flags, low: Flags, full: Floats
) -> MaskedSums:
    counts = (int(np.count_nonzero(one)) for one in (under, masked, high, low))
    at = np.flatnonzero(masked)
    return MaskedSums._make([thresholds, *counts, float(full.sum()), float(full[at].sum())])


def packed(sums: dict[str, MaskedSums]) -> bytes:
    """Sums as bytes."""
    return msgspec.msgpack.encode(sums)


_decode = msgspec.msgpack.Decoder(dict[str, MaskedSums]).decode


def unpacked(data: bytes) -> dict[str, MaskedSums]:
    """The sums that `packed` gave as bytes."""
    return _decode(data)
