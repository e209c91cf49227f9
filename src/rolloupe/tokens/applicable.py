"""The rules of masks that apply to some series, and what a loss sees of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from rolloupe.model import RunLoss
from rolloupe.tokens.complete import ADVANTAGES, GROUP_ADVANTAGES, SampleSeries, trained
from rolloupe.tokens.loss_inputs import LossInputs
from rolloupe.tokens.masks import ANY_SIGN, MASK_RULES, MaskRule
from rolloupe.tokens.series import POLICY, RECORDED_MASK

COMPARED_INSTEAD = {"update_ratio": "importance_ratio"}
"""Without logprobs from before the step, a clip compares with those at sampling."""


def compared_series(rule: MaskRule, names: Sequence[str] | Mapping[str, object]) -> str | None:
    """Return the name of the series that a rule compares, of those that a sample has; None if it has none."""
    for name in (rule.compares, COMPARED_INSTEAD.get(rule.compares)):
        if name is not None and name in names:
            return name
    return None


def mask_rules(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[tuple[MaskRule, str]]:
    """Return the rules that these series suffice for, and the series that each compares.

    The rule of the run's loss comes first, with the run's thresholds.
    """
    names = [one.name for one in series]
    found = []
    for kind in sorted(MASK_RULES, key=lambda kind: loss is None or kind.name != loss.rule):
        rule = kind(**loss.thresholds) if loss is not None and kind.name == loss.rule else kind()
        name = compared_series(rule, names)
        needs_advantages = any(limit.signs != ANY_SIGN for limit in rule.limits)
        if name is not None and (ADVANTAGES in names or not needs_advantages):
            found.append((rule, name))
    return found


def loss_inputs(series: Sequence[SampleSeries]) -> LossInputs | None:
    """Return what a loss sees of a sample; None without logprobs or without advantages.

    The policy's logprobs are the trainer's, else those before the step, else those at sampling. The advantages are
    those of the record, else those within the group.
    """
    values = {one.name: one.values for one in series if one.origin != "difference"}
    logprobs = next((values[name] for name in POLICY if name in values), None)
    advantages = values.get(ADVANTAGES, values.get(GROUP_ADVANTAGES))
    if logprobs is None or advantages is None:
        return None
    sampling, flags = values.get("logprobs", logprobs), values.get(RECORDED_MASK)
    return LossInputs(
        logprobs=logprobs,
        old_logprobs=values.get("old_logprobs", sampling),
        advantages=advantages,
        loss_mask=trained(values) & ~np.isnan(logprobs),
        ref_logprobs=values.get("ref_logprobs"),
        inference_logprobs=sampling,
        sequence_ratios=values.get("sequence_ratio"),
        recorded_mask=None if flags is None else flags == 1,
    )
