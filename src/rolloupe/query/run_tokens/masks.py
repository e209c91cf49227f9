"""The shares of the tokens of each step that rules of masks take out."""

from typing import NamedTuple

from rolloupe.index import OpenRun
from rolloupe.index.token_stats import mask_sums
from rolloupe.index.token_stats.mask_sums import MaskedSums
from rolloupe.query.records import SampleQuery
from rolloupe.query.run.trainer_files import loss_of
from rolloupe.query.run_tokens.token_index import TokenCoverage, whole_steps

RECORDED = "recorded"
"""The rule of the trainer's own flags."""


class MaskedShares(NamedTuple):
    """What a rule takes out at a step, as shares of the trained tokens."""

    split: str
    step: int
    rule: str
    """A name of `tokens.MASK_RULES`, or `recorded` for what the trainer recorded."""
    thresholds: dict[str, float]
    """The run's for the rule of its loss, the usual ones for others; none for `recorded`."""
    tokens: int
    masked: float
    high: float
    low: float
    update_lost: float | None
    """The share of the update, as in `PushShares.lost`; None if nothing is known to be pushed."""


class MaskedBySteps(NamedTuple):
    """Every rule at every step."""

    shares: list[MaskedShares]
    coverage: TokenCoverage


def masked_shares(run: OpenRun, query: SampleQuery) -> MaskedBySteps:
    """The shares of tokens that each rule takes out, by step, for the rules that the recorded series suffice for.

    Raises `BadQuery` for a query with a group or a filter.
    """
    rows, coverage = whole_steps(run, query, "masked")
    sums: dict[tuple[str, int, str, str], MaskedSums] = {}
    for row in rows:
        for rule, one in mask_sums.unpacked(row.values[0]).items():
            key = row.split, row.step, rule, str(one.thresholds)
            sums[key] = sums[key].plus(one) if key in sums else one
    shares = [
        MaskedShares(
            *key[:3],
            one.thresholds,
            tokens=one.tokens,
            masked=one.masked / one.tokens,
            high=one.high / one.tokens,
            low=one.low / one.tokens,
            update_lost=one.lost / one.update if one.update else None,
        )
        for key, one in sorted(sums.items(), key=lambda one: (one[0][0] != "train", one[0]))
        if one.tokens
    ]
    return MaskedBySteps(shares, coverage)


def masked_by_rule(run: OpenRun, split: str) -> dict[str, dict[int, MaskedShares]]:
    """Return the shares by rule, then by step; of a rule with several thresholds those of the run's loss."""
    loss = loss_of(run)
    found: dict[str, dict[int, MaskedShares]] = {}
    for one in masked_shares(run, SampleQuery(splits=(split,))).shares:
        is_own = loss is not None and loss.rule == one.rule and loss.thresholds.items() <= one.thresholds.items()
        by_step = found.setdefault(one.rule, {})
        by_step[one.step] = one if is_own else by_step.get(one.step, one)
    return found


def usual_rules(run: OpenRun, rules: dict[str, dict[int, MaskedShares]]) -> list[str]:
    """Return the rules that a run applies: its trainer's flags and that of its loss; all if none is known."""
    loss = loss_of(run)
    own = [name for name in (RECORDED, loss.rule if loss else "") if name in rules]
    return own or sorted(rules)
