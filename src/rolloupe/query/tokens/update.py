"""What a step of training does to the tokens of its samples, under the run's rule or a chosen one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.model import Sample, SampleKey
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
    """The token strings that push most, or ids where the record has no strings."""


class UpdateChoice(NamedTuple):
    """A rule by name with thresholds, and the weight of a KL penalty."""

    rule: str
    thresholds: Mapping[str, float] = {}
    kl_weight: float = 0.0


def rule_of(choice: UpdateChoice) -> tokens.UpdateRule:
    """Return the rule that a choice names. Raises `BadQuery` for an unknown rule or threshold."""
    try:
        return tokens.update_rule(choice.rule, choice.thresholds)
    except ValueError as error:
        raise BadQuery(str(error)) from None


def token_update(sample: Sample, choice: UpdateChoice) -> TokenUpdate:
    """Return what the step does to each token of a sample. Raises `BadQuery` if its record does not suffice."""
    found = _update_of(sample, choice)
    if isinstance(found, str):
        raise BadQuery(f"sample {sample.key} has {found}, so nothing says what the step does to it")
    return found


def _update_of(sample: Sample, choice: UpdateChoice) -> TokenUpdate | str:
    """Return what the step does to the tokens of a sample, or what its record lacks."""
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
        _most(table.by(_strings(sample, total))),
    )


class _Table:
    """The columns that sums are made of; all have the shape (T,)."""

    def __init__(self, coefficients: tokens.Floats, effects: NDArray[np.int32], full: tokens.Floats) -> None:
        pushes = np.abs(np.nan_to_num(coefficients, posinf=np.inf))
        is_out = effects == TAKEN_OUT
        self.columns = np.stack([
            effects != UNTRAINED,
            np.where(effects == UP, pushes, 0.0),
            np.where(effects == DOWN, pushes, 0.0),
            is_out,
            np.where(is_out, np.abs(full), 0.0),
            effects == NOTHING,
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
    count, up, down, taken_out, lost, unmoved = sums
    return Push(int(count), up, down, int(taken_out), lost, int(unmoved))


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


def grouped_update(samples: Iterable[Sample], choice: UpdateChoice, weights: str = "token_mean") -> GroupedUpdate:
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
        scale = 1.0 if weights == "token_mean" else 1 / max(1, found.whole.tokens)
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
