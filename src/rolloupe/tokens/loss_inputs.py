"""The tokens of one response as a loss sees them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens.arrays import Floats
from rolloupe.tokens.ratios import importance_ratio, log_ratio, prob_delta

Flags = NDArray[np.bool_]
Compared: TypeAlias = Literal["prob_delta", "importance_ratio", "update_ratio", "sequence_ratio"]
"""What a rule may compare: see the token series of these names."""


@dataclass(frozen=True)
class LossInputs:
    """The inputs of a loss for one response; every array has shape (T,), T tokens, log-probabilities are in nats.

    `old_logprobs` are those of the policy that the ratio compares with: the sampling policy, or the proximal one (the
    policy at the start of the step). Outside `loss_mask` nothing counts. A NaN makes what depends on it NaN.
    """

    logprobs: Floats
    old_logprobs: Floats
    advantages: Floats
    loss_mask: Flags
    ref_logprobs: Floats | None = None
    inference_logprobs: Floats | None = None
    """Those of the inference engine, where they differ from `old_logprobs`; None: the same."""
    sequence_ratios: Floats | None = None
    """The ratio of its sequence for each token, if it is known: the arrays may hold several responses."""
    recorded_mask: Flags | None = None
    """The tokens that the trainer recorded as taken out of the loss, if it recorded any flags."""

    @cached_property
    def log_ratios(self) -> Floats:
        """Return `logprobs - old_logprobs`."""
        return log_ratio(self.logprobs, self.old_logprobs)

    @cached_property
    def ratios(self) -> Floats:
        """Return the importance ratio of each token."""
        return importance_ratio(self.log_ratios)

    @cached_property
    def deltas(self) -> Floats:
        """Return how far the probability of each token has moved from that of the inference engine."""
        return prob_delta(self.logprobs, self._engine_logprobs)

    @cached_property
    def engine_ratios(self) -> Floats:
        """Return the ratio of the trainer's probability to the inference engine's."""
        return importance_ratio(log_ratio(self.logprobs, self._engine_logprobs))

    def compared(self, name: Compared) -> Floats:
        """Return what a rule compares, shape (T,)."""
        if name == "sequence_ratio":
            several = self.sequence_ratios
            return np.full(self.advantages.shape, self.sequence_ratio) if several is None else several
        return {"prob_delta": self.deltas, "importance_ratio": self.engine_ratios, "update_ratio": self.ratios}[name]

    @cached_property
    def sequence_ratio(self) -> float:
        """Return the geometric mean of the ratios under the mask, NaN without a token there.

        Source: GSPO (Zheng et al. 2025), where it replaces the ratio of each token.
        """
        under = self.log_ratios[self.loss_mask]
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.exp(under.mean())) if under.size else float("nan")

    @property
    def _engine_logprobs(self) -> Floats:
        return self.old_logprobs if self.inference_logprobs is None else self.inference_logprobs
