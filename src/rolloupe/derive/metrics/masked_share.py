"""The share of trained tokens that are masked or clipped, by the trainer's flags, else by the run's rule."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, mean, of_series
from rolloupe.tokens import Floats, TokenBatch

_recorded = of_series(("is_masked",), mean)


def _share(batch: TokenBatch) -> Floats:
    inputs, masked = batch.loss_inputs, batch.masked_by_run
    if "is_masked" in batch.series or inputs is None or masked is None:
        return _recorded(batch)
    out, trained = (np.add.reduceat(flags, batch.starts, dtype=np.int64) for flags in (masked, inputs.loss_mask))
    with np.errstate(invalid="ignore"):
        shares: Floats = out / trained
    return shares


METRIC = DerivedMetric("masked_share", 2, "Masked or clipped tokens", of_tokens=_share)
