"""What a step of training does to the tokens of its samples, under the run's rule or a chosen one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.model import Aggregation, RunLoss, Sample, SampleKey
from rolloupe.query.tokens.series import series_of
from rolloupe.query.tokens.spans import spans_of
from rolloupe.query.tokens.table import roles_of
from rolloupe.query.tokens.token_strings import texts_of_tokens
from rolloupe.tokens import token_count

UNTRAINED, UP, DOWN, NOTHING, TAKEN_OUT = range(5)
"""What the step does to a token: outside the loss, pushed up, pushed down, advantage 0, taken out by the rule."""

MOST_STRINGS = 50
"""Token strings with a share of their own; of the others only the sum is kept."""


class Push(NamedTuple):
    """Sums of the absolute coefficients of some tokens."""

    tokens: int = 0
    """Trained tokens."""
    up: float = 0.0
    down: float = 0.0
    taken_out: int = 0
    """Tokens that the rule takes out."""
    lost: float = 0.0
    """What those would have contributed."""
    unmoved: int = 0
    """Tokens with an advantage of 0."""
    uncounted: int = 0
    """Tokens whose coefficient, or whose lost one, is not finite: it is in no sum."""

    def plus(self, other: "Push") -> "Push":
        """Return the sums over both."""
        return Push._make(one + another for one, another in zip(self, other, strict=True))


class TokenUpdate(NamedTuple):
    """The update of one sample; the arrays have the shape (T,)."""

    coefficients: tokens.Floats
    """`g` of `rolloupe.tokens.update`; NaN where an input is missing."""
    effects: NDArray[np.int32]
    """One of `UNTRAINED`, `UP`, `DOWN`, `NOTHING`, `TAKEN_OUT` for each token."""
    whole: Push
    by_role: dict[str, Push]
    by_string: dict[str, Push]
    """By token string, or by id where the record has no strings; those that push most."""


class UpdateChoice(NamedTuple):
    """A rule by name with thresholds, and the weight of a KL penalty."""

    rule: str
    thresholds: Mapping[str, float] = {}
    kl_weight: float = 0.0


def choice_of(
    loss: RunLoss | None,
    rule: str | None = None,
    thresholds: Mapping[str, float] = MappingProxyType({}),
    kl_weight: float | None = None,
) -> UpdateChoice:
    """Return a choice whose missing parts are those of a run's loss. Raises `BadQuery` if neither names a rule."""
    rule = rule or (loss.rule if loss else None)
    if rule is None:
        raise BadQuery(f"the run's configuration names no rule: choose one of {', '.join(tokens.UPDATES)}")
    own = loss.thresholds if loss and loss.rule == rule else {}
    if kl_weight is None:
        kl_weight = loss.kl_weight if loss else 0.0
    return UpdateChoice(rule, {**own, **thresholds}, kl_weight)


def rule_of(choice: UpdateChoice) -> tokens.UpdateRule:
    """Return the rule that a choice names. Raises `BadQuery` for an unknown rule or threshold."""
    try:
        return tokens.update_rule(choice.rule, choice.thresholds)
    except ValueError as error:
        raise BadQuery(str(error)) from None


def aggregation_of(name: str) -> Aggregation:
    """Return the aggregation of this name. Raises `BadQuery` for an unknown one."""
    known: tuple[Aggregation, ...] = get_args(Aggregation)
    found = next((one for one in known if one == name), None)
    if found is None:
        raise BadQuery(f"weights={name[:40]!r} is neither {' nor '.join(known)}")
    return found


def token_update(sample: Sample, choice: UpdateChoice) -> TokenUpdate:
    """Return what the step does to each token of a sample. Raises `BadQuery` if its record does not suffice."""
    found = _update_of(sample, choice)
    if isinstance(found, str):
        raise BadQuery(f"sample {sample.key} has {found}, so nothing says what the step does to it")
    return found._replace(by_string=_most(found.by_string))


def _update_of(sample: Sample, choice: UpdateChoice) -> TokenUpdate | str:
    """Return what the step does to the tokens of a sample, with all its strings, or what its record lacks."""
    total, rule = token_count(sample), rule_of(choice)
    series = series_of(sample, total)
    inputs = tokens.loss_inputs(series)
    if inputs is None:
        has_logprobs = any(one.name in ("logprobs", "trainer_logprobs") for one in series)
        return "no advantage" if has_logprobs else "no logprobs"
    if choice.kl_weight and inputs.ref_logprobs is None:
        return "no ref_logprobs, which a KL penalty needs"
    coefficients = tokens.update_coefficients(inputs, rule, choice.kl_weight)
    full = tokens.full_coefficients(inputs, rule)
    kept = tokens.update_coefficients(inputs, rule) if choice.kl_weight else coefficients
    is_out = inputs.loss_mask & (full != 0) & (kept == 0)
    effects = np.select(
        [~inputs.loss_mask | np.isnan(coefficients), is_out, coefficients > 0, coefficients < 0],
        [UNTRAINED, TAKEN_OUT, UP, DOWN],
        NOTHING,
    ).astype(np.int32)
    roles = roles_of(sample, spans_of(sample, total).turn, inputs.loss_mask)
    table = _Table(coefficients, effects, full)
    return TokenUpdate(
        coefficients,
        effects,
        table.push(slice(None)),
        table.by(roles.fill_null("").to_numpy(zero_copy_only=False)),
        table.by(_strings(sample, total)),
    )


class _Table:
    """The columns that sums are made of; all have the shape (T,)."""

    def __init__(self, coefficients: tokens.Floats, effects: NDArray[np.int32], full: tokens.Floats) -> None:
        is_trained, is_out = effects != UNTRAINED, effects == TAKEN_OUT
        pushes, lost = np.where(is_trained, coefficients, 0.0), np.where(is_out, np.abs(full), 0.0)
        is_finite = np.isfinite(pushes), np.isfinite(lost)
        pushes, lost = np.where(is_finite[0], pushes, 0.0), np.where(is_finite[1], lost, 0.0)
        self.columns = np.stack([
            is_trained,
            np.maximum(pushes, 0.0),
            np.maximum(-pushes, 0.0),
            is_out,
            lost,
            effects == NOTHING,
            ~(is_finite[0] & is_finite[1]),
        ]).astype(np.float64)  # fmt: skip

    def push(self, which: slice | NDArray[np.intp]) -> Push:
        """Return the sums over some tokens."""
        return _push(self.columns[:, which].sum(axis=1).tolist())

    def by(self, names: NDArray[np.object_]) -> dict[str, Push]:
        """Return the sums by name, shape (T,), of the trained tokens."""
        trained = np.flatnonzero(self.columns[0])
        numbers: dict[str, int] = {}
        places = np.array([numbers.setdefault(name, len(numbers)) for name in names[trained].tolist()], dtype=np.intp)
        sums = [np.bincount(places, column[trained], len(numbers)).tolist() for column in self.columns]
        return {name: _push(own) for name, *own in zip(numbers, *sums, strict=True)}


def _push(sums: Sequence[float]) -> Push:
    count, up, down, taken_out, lost, unmoved, uncounted = sums
    return Push(int(count), up, down, int(taken_out), lost, int(unmoved), int(uncounted))


def _strings(sample: Sample, total: int) -> NDArray[np.object_]:
    names = np.full(total, "", dtype=object)
    strings = texts_of_tokens(sample) or list(map(str, sample.token_ids))
    if strings and sample.token_strings:
        names[total - len(strings) :] = strings
    elif strings:
        names[: len(strings)] = strings
    return names


def _most(pushes: dict[str, Push]) -> dict[str, Push]:
    by_size = sorted(pushes.items(), key=lambda one: -(one[1].up + one[1].down + one[1].lost))
    return dict(by_size[:MOST_STRINGS])


class GroupedUpdate(NamedTuple):
    """The update of several samples: those of a group or of a step."""

    whole: Push
    by_sample: dict[SampleKey, Push]
    by_group: dict[str, Push]
    by_role: dict[str, Push]
    by_string: dict[str, Push]
    left_out: dict[str, int]
    """The number of samples that are left out by the reason: `discarded`, or what their records lack."""


def grouped_update(
    samples: Iterable[Sample], choice: UpdateChoice, weights: Aggregation = "token_mean"
) -> GroupedUpdate:
    """Return the shares of samples, groups, roles and token strings. Holds one sample at a time.

    Discarded samples are left out, for the step does nothing to them. With `token_mean` each token counts alike; with
    `sequence_mean` each sample does, however long it is. Raises `BadQuery` for an unknown rule.
    """
    rule_of(choice)
    by_sample: dict[SampleKey, Push] = {}
    by_group, by_role, by_string = (defaultdict[str, Push](Push) for _ in range(3))
    left_out: Counter[str] = Counter()
    whole = Push()
    for sample in samples:
        found = "discarded" if sample.row.discarded else _update_of(sample, choice)
        if isinstance(found, str):
            left_out[found] += 1
            continue
        scale = tokens.aggregation_weight(found.whole.tokens, weights)
        own = _scaled(found.whole, scale)
        by_sample[sample.key] = own
        whole = whole.plus(own)
        by_group[sample.key.group] = by_group[sample.key.group].plus(own)
        for sums, parts in ((by_role, found.by_role), (by_string, found.by_string)):
            for name, push in parts.items():
                sums[name] = sums[name].plus(_scaled(push, scale))
    return GroupedUpdate(whole, by_sample, dict(by_group), dict(by_role), _most(by_string), dict(left_out))


def _scaled(push: Push, scale: float) -> Push:
    return push._replace(up=push.up * scale, down=push.down * scale, lost=push.lost * scale)
