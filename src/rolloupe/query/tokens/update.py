"""The update of a training step, token by token, under the run's rule or a chosen one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.index.token_stats.series import EDGES, encodable
from rolloupe.model import Aggregation, RunLoss, Sample, SampleKey
from rolloupe.query.tokens.page import roles_of, series_of, spans_of, texts_of_tokens
from rolloupe.tokens import token_count

T = TypeVar("T")

UNTRAINED, UP, DOWN, NOTHING, TAKEN_OUT, UNKNOWN = range(6)
"""Effects of a step on a token: outside the loss, pushed up, pushed down, advantage 0, taken out by the rule, or
unknown, because its coefficient is NaN."""

MOST_STRINGS = 50  # token strings with a share of their own; the others are in the sums of all tokens
MOST_NAMES = 2**19  # names with sums: more than any vocabulary has token strings


class MassShares(NamedTuple):
    """Parts of an update, as shares; the parts of the whole update sum to 1."""

    up: float
    down: float
    lost: float


class UpdateMass(NamedTuple):
    """Sums of the absolute coefficients of some tokens."""

    tokens: int = 0  # trained tokens
    up: float = 0.0
    down: float = 0.0
    taken_out: int = 0  # tokens that the rule takes out
    lost: float = 0.0  # the sum that those would have contributed
    unmoved: int = 0  # tokens with an advantage of 0
    uncounted: int = 0
    """Tokens whose coefficient, or whose lost one, is unknown, infinite or above 1e290: it is in no sum."""

    @property
    def size(self) -> float:
        """The denominator of shares: up + down + lost."""
        return self.up + self.down + self.lost

    def shares(self, whole: "UpdateMass") -> MassShares:
        """Return which shares of the update of `whole` these tokens have; 0 of nothing."""
        size = whole.size or 1.0
        return MassShares(self.up / size, self.down / size, self.lost / size)


class TokenUpdate(NamedTuple):
    """The update of one sample; the arrays have the shape (T,)."""

    coefficients: tokens.Floats  # `g` of `rolloupe.tokens.update`; NaN where an input is missing
    effects: NDArray[np.int32]  # one of `UNTRAINED`, `UP`, `DOWN`, `NOTHING`, `TAKEN_OUT`, `UNKNOWN` for each token
    whole: UpdateMass
    by_role: dict[str, UpdateMass]
    by_string: dict[str, UpdateMass]  # by token string, or by id where the record has no strings; those that push most
    by_position: dict[int, UpdateMass]  # see `GroupedUpdate`


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
    if name not in known:
        raise BadQuery(f"weights={name[:40]!r} is neither {' nor '.join(known)}")
    return known[known.index(name)]


class Names(NamedTuple):
    """A name for each token."""

    known: Sequence[str]
    numbers: NDArray[np.int32]  # the place of each token's name in `known`, shape (T,)


class UpdateInputs(NamedTuple):
    """The inputs of the update of a sample, for each of its T tokens. They are the same for every rule."""

    key: SampleKey
    loss: tokens.LossInputs
    roles: Names
    strings: Names

    @property
    def size_bytes(self) -> int:
        """The approximate memory that it takes."""
        arrays = [array for array in vars(self.loss).values() if isinstance(array, np.ndarray)]
        names = sum(map(len, self.strings.known)) + 64 * len(self.strings.known)
        return sum(array.nbytes for array in (*arrays, self.roles.numbers, self.strings.numbers)) + names


def update_inputs(samples: Iterable[Sample]) -> Iterator[UpdateInputs | str]:
    """Yield the inputs of the update of each sample, of the tokens in its loss, or why the sample is left out."""
    for sample in samples:
        inputs = "discarded" if sample.row.discarded else _inputs_of(sample)
        if not isinstance(inputs, str):
            key, loss, roles, strings = inputs
            mask = loss.loss_mask
            arrays = {field.name: getattr(loss, field.name) for field in fields(loss)}
            masked: dict[str, Any] = {name: None if array is None else array[mask] for name, array in arrays.items()}
            inputs = UpdateInputs(key, tokens.LossInputs(**masked), _masked(roles, mask), _masked(strings, mask))
        yield inputs


def _inputs_of(sample: Sample) -> UpdateInputs | str:
    """Return the inputs of the update of a sample, or what its record lacks."""
    total = token_count(sample)
    series = series_of(sample, total)
    loss = tokens.loss_inputs(series)
    if loss is None:
        return "no advantage" if any(each.name in tokens.POLICY for each in series) else "no logprobs"
    roles = roles_of(sample, spans_of(sample, total, loss.loss_mask).turn, loss.loss_mask)
    strings = texts_of_tokens(sample) or list(map(str, sample.token_ids))
    without = [""] * (total - len(strings))
    strings = without + strings if sample.token_strings else strings + without
    try:
        array = pa.array(strings, pa.string())
    except UnicodeEncodeError:
        array = pa.array(map(encodable, strings), pa.string())
    return UpdateInputs(sample.key, loss, _names(roles.fill_null("")), _names(array))


def _names(names: pa.Array) -> Names:
    encoded = names.dictionary_encode()
    return Names(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())


def _masked(names: Names, mask: tokens.Flags) -> Names:
    numbers = names.numbers[mask]
    used = np.flatnonzero(np.bincount(numbers, minlength=len(names.known)))
    places = np.zeros(len(names.known), np.int32)
    places[used] = np.arange(len(used))
    return Names([names.known[number] for number in used.tolist()], places[numbers])


def token_update(sample: Sample, choice: UpdateChoice) -> TokenUpdate:
    """Return what the step does to each token of a sample. Raises `BadQuery` if its record does not suffice."""
    inputs = _inputs_of(sample)
    table = inputs if isinstance(inputs, str) else _table_of(inputs.loss, choice)
    if isinstance(inputs, str) or isinstance(table, str):
        raise BadQuery(f"the update of sample {sample.key} is not known: it has {table}")
    whole = _mass(table.columns.sum(axis=1).tolist())
    by_role = _masses(inputs.roles.known, table.by(inputs.roles))
    by_string = _masses(inputs.strings.known, table.by(inputs.strings), MOST_STRINGS)
    by_position = _masses(FIRSTS, table.by_bucket())
    return TokenUpdate(table.coefficients, table.effects, whole, by_role, by_string, by_position)


class _Table(NamedTuple):
    coefficients: tokens.Floats
    effects: NDArray[np.int32]
    columns: tokens.Floats  # the summands of each field of `UpdateMass`, shape (fields of `UpdateMass`, T)

    def by(self, names: Names) -> tokens.Floats:
        """Return the sums by name, shape (fields of `UpdateMass`, names)."""
        return np.stack([np.bincount(names.numbers, row, len(names.known)) for row in self.columns], dtype=np.float64)

    def by_bucket(self) -> tokens.Floats:
        """Return the sums by bucket of positions, shape (fields of `UpdateMass`, buckets)."""
        is_trained = self.columns[0]
        buckets = np.searchsorted(EDGES, np.cumsum(is_trained) - is_trained, side="right") - 1
        return np.stack([np.bincount(buckets, row, len(EDGES)) for row in self.columns], dtype=np.float64)


def _table_of(inputs: tokens.LossInputs, choice: UpdateChoice) -> _Table | str:
    rule = rule_of(choice)
    if choice.rule == tokens.RECORDED and inputs.recorded_mask is None:
        return "no recorded flags"
    if choice.kl_weight and inputs.ref_logprobs is None:
        return "no ref_logprobs, which a KL penalty needs"
    coefficients = tokens.update_coefficients(inputs, rule, choice.kl_weight)
    full = rule.full_coefficients(inputs)
    kept = tokens.update_coefficients(inputs, rule) if choice.kl_weight else coefficients
    is_out = inputs.loss_mask & (full != 0) & (kept == 0)
    is_trained = inputs.loss_mask
    conditions = [~is_trained, np.isnan(coefficients), is_out, coefficients > 0, coefficients < 0]
    effects = np.select(conditions, [UNTRAINED, UNKNOWN, TAKEN_OUT, UP, DOWN], NOTHING).astype(np.int32)
    pushes, lost = np.where(is_trained, coefficients, 0.0), np.where(effects == TAKEN_OUT, np.abs(full), 0.0)
    is_summed = tokens.is_summed(pushes) & tokens.is_summed(lost)
    pushes, lost = (np.where(tokens.is_summed(values), values, 0.0) for values in (pushes, lost))
    pushed = np.maximum(pushes, 0.0), np.maximum(-pushes, 0.0)
    columns = [is_trained, *pushed, effects == TAKEN_OUT, lost, effects == NOTHING, ~is_summed]
    return _Table(coefficients, effects, np.stack(columns).astype(np.float64))


class _MassSums:
    """Sums of the columns of tables, by name, for the first `MOST_NAMES` names."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sums = np.zeros((len(UpdateMass._fields), 64))
        self.unnamed = 0
        """Trained tokens with other names."""

    def add(self, names: Sequence[str], sums: tokens.Floats) -> None:
        """Add sums, shape (fields of `UpdateMass`, names); the names differ."""
        numbers = self._numbers
        if len(numbers) + len(names) <= MOST_NAMES:
            places = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.intp)
        else:
            for name in names:
                if len(numbers) < MOST_NAMES:
                    numbers.setdefault(name, len(numbers))
            places = np.array([numbers.get(name, -1) for name in names], np.intp)
            self.unnamed += int(sums[_TOKENS, places < 0].sum())
            sums, places = sums[:, places >= 0], places[places >= 0]
        if len(numbers) > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, len(numbers))))
        self._sums[:, places] += sums

    def masses(self, most: int | None = None) -> dict[str, UpdateMass]:
        """Return the sums by name; with `most`, only those of the `most` largest updates, in order."""
        return _masses(list(self._numbers), self._sums[:, : len(self._numbers)], most)


def _masses(names: Sequence[T], sums: tokens.Floats, most: int | None = None) -> dict[T, UpdateMass]:
    """Return the sums of the names that trained tokens have; with `most`, the largest ones in order."""
    chosen = np.flatnonzero(sums[_TOKENS])
    if most is not None:
        chosen = chosen[np.argsort(-sums[_SIZES][:, chosen].sum(axis=0), kind="stable")[:most]]
    rows = sums[:, chosen].T.tolist()
    return {names[at]: _mass(row) for at, row in zip(chosen.tolist(), rows, strict=True)}


def _mass(sums: Sequence[float]) -> UpdateMass:
    count, up, down, taken_out, lost, unmoved, uncounted = sums
    return UpdateMass(int(count), up, down, int(taken_out), lost, int(unmoved), int(uncounted))


class GroupedUpdate(NamedTuple):
    """The update of several samples: those of a group or of a step."""

    whole: UpdateMass
    by_sample: dict[SampleKey, UpdateMass]
    by_group: dict[str, UpdateMass]
    by_role: dict[str, UpdateMass]
    by_string: dict[str, UpdateMass]
    by_position: dict[int, UpdateMass]
    """By the first position of a bucket: how many tokens in the loss precede a token in its sample."""
    left_out: dict[str, int]
    """The number of samples that are left out by the reason: `discarded`, or what their records lack."""
    effective_samples: float | None
    """The effective sample size, from the ratios of the sequences; None if no sample has a ratio."""
    unnamed: int = 0
    """Tokens whose string is left out of `by_string`, because the samples have more than `MOST_NAMES` strings."""
    differing: Mapping[SampleKey, int] = MappingProxyType({})
    """How many trained tokens of each sample another rule treats differently, if one is compared."""


def grouped_update(
    samples: Iterable[UpdateInputs | str],
    choice: UpdateChoice,
    weights: Aggregation = "token_mean",
    against: UpdateChoice | None = None,
) -> GroupedUpdate:
    """Return the shares of samples, groups, roles, token strings and positions, of what `update_inputs` yields.

    With `token_mean` each token counts alike; with `sequence_mean` each sample does, however long it is. `against` is a
    rule to compare with: see `GroupedUpdate.differing`. Raises `BadQuery` for an unknown rule.
    """
    rule_of(choice)
    if against is not None:
        rule_of(against)
    differing: dict[SampleKey, int] = {}
    by_sample: dict[SampleKey, tokens.Floats] = {}
    by_group, by_role, by_string = (_MassSums() for _ in range(3))
    by_bucket = np.zeros((len(UpdateMass._fields), len(EDGES)))
    left_out: Counter[str] = Counter()
    ratios = []
    for inputs in samples:
        table = inputs if isinstance(inputs, str) else _table_of(inputs.loss, choice)
        if isinstance(inputs, str) or isinstance(table, str):
            left_out[str(table)] += 1
            continue
        scale = np.where(_WEIGHTED, tokens.aggregation_weight(int(table.columns[0].sum()), weights), 1.0)[:, None]
        own = by_sample[inputs.key] = table.columns.sum(axis=1, keepdims=True) * scale
        by_group.add([inputs.key.group], own)
        by_bucket += table.by_bucket() * scale
        by_role.add(inputs.roles.known, table.by(inputs.roles) * scale)
        by_string.add(inputs.strings.known, table.by(inputs.strings) * scale)
        ratios.append(inputs.loss.sequence_ratio)
        other = "none" if against is None else _table_of(inputs.loss, against)
        if not isinstance(other, str):
            differing[inputs.key] = int(np.count_nonzero(table.effects != other.effects))
    whole = sum(by_sample.values(), np.zeros((len(UpdateMass._fields), 1)))
    of_samples = {key: _mass(own[:, 0].tolist()) for key, own in by_sample.items()}
    by_name = (by_group.masses(), by_role.masses(), by_string.masses(MOST_STRINGS), _masses(FIRSTS, by_bucket))
    effective = tokens.effective_sample_size(np.array(ratios))
    return GroupedUpdate(
        _mass(whole[:, 0].tolist()), of_samples, *by_name, dict(left_out), effective, by_string.unnamed, differing
    )


FIRSTS: list[int] = EDGES.tolist()  # the first positions of buckets
_TOKENS = UpdateMass._fields.index("tokens")
_SIZES = [UpdateMass._fields.index(name) for name in ("up", "down", "lost")]
_WEIGHTED = np.array([name in ("up", "down", "lost") for name in UpdateMass._fields])
