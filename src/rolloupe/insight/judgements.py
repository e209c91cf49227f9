"""Judgements of a person: which samples to judge next, whether the reward agrees, and pairs to prefer."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query, text
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Piece, tag_column
from rolloupe.insight.curves import ranks
from rolloupe.insight.findings.trend import correctness_of, metrics_of
from rolloupe.lru import Lru
from rolloupe.model import JUDGEMENT, OWN_JUDGEMENT, Real, Texts
from rolloupe.query import Reader, SampleItem, SampleQuery
from rolloupe.query.filter.parser import Missing, Not, conditions, quoted
from rolloupe.query.records import scope_of
from rolloupe.query.samples.pages import GROUP, located_by_uid, located_named, sample_arrays
from rolloupe.questions import AgreementQuery, JudgingQuery
from rolloupe.state import State
from rolloupe.state.records import JUDGEMENTS, LocatedMark, located_samples
from rolloupe.tokens import Floats

_OVERLAYS: Lru[tuple[object, ...], tuple[Piece, str]] = Lru(32)
"""The last judgements that were joined, by the run, its version and the marks."""

SIGNS = {"high": ">=", "low": "<"}
STRATA = 5
Z_95 = 1.96


def with_judgements(run: OpenRun, state: State) -> OpenRun:
    """Return the run with the judgements of a person as a tag of its samples: see `name_of`."""
    return with_marks(run, state.judgements(run))


def with_marks(run: OpenRun, marks: Sequence[LocatedMark]) -> OpenRun:
    """Return the run with the judgements among some marks."""
    marked = tuple((mark.item.name, mark.mark.uid, mark.mark.judgement) for mark in marks)
    key = (run.catalog.folder, run.version, marked)
    overlay = _OVERLAYS.get(key)
    if overlay is None:
        overlay = _overlay(run, marks)
        _OVERLAYS.put(key, overlay)
    return run.with_scores(*overlay)


def _overlay(run: OpenRun, marks: Sequence[LocatedMark]) -> tuple[Piece, str]:
    """The judgements among some marks as scores, and a stamp of them."""
    snapshot = run.snapshot()
    name = OWN_JUDGEMENT if JUDGEMENT in (*snapshot.metrics, *snapshot.tags) else JUDGEMENT
    samples = located_samples(marks, lambda keys: located_named(run, keys), lambda uids: located_by_uid(run, uids))
    judged = {sample.word: mark.mark.judgement for mark, sample in samples if sample is not None}
    table = pa.table({
        "uid": pa.array(judged, pa.string()),
        "source": pa.array([""] * len(judged), pa.string()),
        "byte_start": pa.array(range(len(judged)), pa.int64()),
        "nth": pa.array(range(len(judged)), pa.int64()),
        tag_column(name): pa.array(judged.values(), pa.string()),
    })  # fmt: skip
    stamp = hashlib.blake2b(repr(sorted(judged.items())).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return Piece(JUDGEMENT, None, table, (), (), (name,), annotates=True, stop=0, scores=True), stamp


def name_of(run: OpenRun) -> str:
    """Return the column of judgements of a run with judgements: one that the run itself does not have."""
    assert run.own_scores is not None
    return run.own_scores[0].tags[0]


class JudgingQueue(Struct, frozen=True):
    """The samples to judge, the next one first."""

    ids: list[str]
    samples: int
    """The samples of the scope that are not judged yet."""
    against: str
    """The metric whose disagreement with the reward decides; empty if groups with mixed rewards come first."""


def judging_queue(run: OpenRun, asked: JudgingQuery) -> JudgingQueue:
    """Return the samples of a scope that are not judged yet, in the order to judge them."""
    where = (*conditions(asked.where), Missing(name_of(run)))
    scope = replace(scope_of(asked), trained=not asked.discarded, where=where, typed=asked.where)
    against = _second_opinion(run, asked.split) if asked.order == "disagreement" else ""
    arrays = sample_arrays(run, scope, ["reward", *([against] if against else [])])
    order = np.random.default_rng(asked.seed).permutation(len(arrays))
    rewards = arrays.numbers("reward")[order]
    if asked.order == "strata":
        order = order[np.argsort(_turns(_strata(rewards)), kind="stable")]
    elif against:
        apart = np.abs(_ranks(rewards) - _ranks(arrays.numbers(against)[order]))
        order = order[np.argsort(-np.nan_to_num(apart, nan=-1.0), kind="stable")]
    elif asked.order == "disagreement":
        order = order[_by_mixed_group(arrays.table[GROUP].to_numpy()[order], rewards)]
    return JudgingQueue(arrays.ids(run, order[: asked.limit].tolist()), len(order), against)


def _second_opinion(run: OpenRun, split: str) -> str:
    """The metric to compare the reward with: scores of a person's own grader, else one that means correctness."""
    snapshot = run.snapshot()
    scores = [name for piece in snapshot.scores for name in piece.metrics]
    metric = scores[-1] if scores else correctness_of(run, metrics_of(snapshot, split), "")
    return query.qualified(metric, "metric") if metric else ""


def _strata(rewards: Floats) -> NDArray[np.int64]:
    """The stratum of each reward: its value if there are few, else its fifth; one more for missing rewards."""
    finite = np.isfinite(rewards)
    strata = np.full(len(rewards), -1, np.int64)
    values, places = np.unique(rewards[finite], return_inverse=True)
    if len(values) > STRATA:
        places = np.argsort(np.argsort(rewards[finite], kind="stable")) * STRATA // max(1, finite.sum())
    strata[finite] = places
    return strata


def _turns(strata: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many samples of the same stratum come before each."""
    turns = np.empty(len(strata), np.int64)
    for stratum in np.unique(strata):
        among = strata == stratum
        turns[among] = np.arange(among.sum())
    return turns


def _ranks(values: Floats) -> Floats:
    """The rank of each value from 0 to 1, equal ones alike; NaN for values that are not finite."""
    finite = np.isfinite(values)
    of_values = np.full(len(values), np.nan)
    of_values[finite] = (ranks(values[finite]) + 0.5) / max(1, finite.sum())
    return of_values


def _by_mixed_group(groups: NDArray[np.uint64], rewards: Floats) -> NDArray[np.int64]:
    """The order of samples by the deviation of the rewards in their group, the most mixed group first."""
    _, places = np.unique(groups, return_inverse=True)
    finite = np.nan_to_num(rewards, nan=0.0, posinf=0.0, neginf=0.0)
    counts = np.bincount(places)
    means = np.bincount(places, finite) / counts
    deviations = np.sqrt(np.bincount(places, (finite - means[places]) ** 2) / counts)
    order: NDArray[np.int64] = np.lexsort((places, -deviations[places]))
    return order


class AgreementCell(Struct, frozen=True):
    """The samples of one judgement with a high or a low reward."""

    judgement: str
    """`good` or `bad`."""
    reward: str
    """`high` or `low`."""
    samples: int
    where: str
    """A filter for these samples."""


class Agreement(Struct, frozen=True):
    """How often the reward agrees with the judgements of a person: it is high for good samples and low for bad ones."""

    samples: int
    """The judged samples with a reward."""
    agree: int
    low: Real | None
    """The lower end of the 95% interval of the share that agrees; null without samples."""
    high: Real | None
    """The upper end."""
    threshold: Real
    """A reward is high from here on."""
    reason: str
    """Where the threshold comes from."""
    good: int
    """The judged samples in all, with or without a reward."""
    bad: int
    without_reward: int
    pairs: int
    """The pairs of a good and a bad sample with the same prompt in a group."""
    cells: list[AgreementCell]


def judged(run: OpenRun, scope: SampleQuery) -> SampleQuery:
    """Return the query for the judged samples of a query, of a run with judgements."""
    return replace(scope, where=(*scope.where, Not(Missing(name_of(run)))))


def judgement_of(run: OpenRun, item: SampleItem) -> str:
    """Return the judgement of a sample of a run with judgements."""
    return item.tags.get(name_of(run), "")


def by_prompt(judged: Iterable[SampleItem]) -> list[list[SampleItem]]:
    """Return samples by group; a group that mixes prompts counts as several."""
    groups: dict[tuple[str, int, str, str], list[SampleItem]] = {}
    for item in judged:
        groups.setdefault((item.split, item.step, item.group, item.prompt), []).append(item)
    return list(groups.values())


def agreement(run: OpenRun, asked: AgreementQuery) -> Agreement:
    """Return how often the reward of a run agrees with the judgements of a person."""
    everything = list(query.every(run, judged(run, scope_of(asked))))
    samples = [item for item in everything if not asked.ids or item.id in asked.ids]
    words = {item.id: judgement_of(run, item) for item in samples}
    rewards = {item.id: item.reward for item in samples if item.reward is not None and math.isfinite(item.reward)}
    threshold, reason = asked.threshold, "as requested"
    if threshold is None:
        threshold, reason = _threshold(run, np.array([*rewards.values()], np.float64))
    cells: dict[tuple[str, str], list[SampleItem]] = {(word, level): [] for word in JUDGEMENTS for level in SIGNS}
    for item in samples:
        if item.id in rewards:
            cells[words[item.id], "high" if rewards[item.id] >= threshold else "low"].append(item)
    shown = []
    for (word, level), of in cells.items():
        where = f"{name_of(run)} = {word} and reward {SIGNS[level]} {threshold!r}"
        is_some = of and len(samples) < len(everything)
        shown.append(AgreementCell(word, level, len(of), _these(of) if is_some else where))
    agree = len(cells["good", "high"]) + len(cells["bad", "low"])
    low, high = _wilson(agree, len(rewards))
    counts = [Counter(words[item.id] for item in of) for of in by_prompt(samples)]
    of_word = Counter(words.values())
    return Agreement(
        samples=len(rewards),
        agree=agree,
        low=low,
        high=high,
        threshold=threshold,
        reason=reason,
        good=of_word["good"],
        bad=of_word["bad"],
        without_reward=len(samples) - len(rewards),
        pairs=sum(count["good"] * count["bad"] for count in counts),
        cells=shown,
    )


def _these(samples: Sequence[SampleItem]) -> str:
    """A filter for some samples."""
    places = [
        f"(split = {quoted(one.split)} and step = {one.step} and group = {quoted(one.group)}"
        f" and index = {quoted(one.index)})"
        for one in samples
    ]
    return " or ".join(places)


def _threshold(run: OpenRun, rewards: Floats) -> tuple[float, str]:
    """The reward that divides low from high ones, and why."""
    declared = run.info.reading.reward_range or run.info.reward_range
    if declared is not None:
        return sum(declared) / 2, "the middle of the declared range of the reward"
    values, counts = np.unique(rewards, return_counts=True)
    if len(values) > 1:
        below = np.cumsum(counts)[:-1]
        sums = np.cumsum(values * counts)
        above = len(rewards) - below
        gap = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
        cut = int(np.argmax(gap))
        return float(values[cut] + values[cut + 1]) / 2, "the value that best splits these rewards into two groups"
    seen = next((info for info in query.catalogue(run).columns if info.name == "reward"), None)
    if seen is not None and seen.low is not None and seen.high is not None:
        return (seen.low + seen.high) / 2, "halfway between the lowest and the highest reward of the run"
    return 0.5, "the usual one for rewards from 0 to 1"


def _wilson(right: int, of: int) -> tuple[float | None, float | None]:
    """The 95% interval of a share by Wilson's formula."""
    if not of:
        return None, None
    share, slack = right / of, Z_95**2 / of
    middle = (share + slack / 2) / (1 + slack)
    reach = Z_95 * math.sqrt(share * (1 - share) / of + slack / (4 * of)) / (1 + slack)
    return max(0.0, middle - reach), min(1.0, middle + reach)


class PreferencePair(NamedTuple):
    """A good and a bad answer to one prompt, with whole texts."""

    prompt: str
    chosen: str
    rejected: str
    run: str
    chosen_id: str
    rejected_id: str
    chosen_reward: float | None
    rejected_reward: float | None


def preference_pairs(run: OpenRun, scope: SampleQuery) -> Iterator[PreferencePair]:
    """Yield every pair among the samples of a query, of a run with judgements, except of lost files."""
    reader = Reader(run)
    for items in by_prompt(query.every(run, judged(run, scope))):
        if len({judgement_of(run, item) for item in items}) < 2:
            continue
        read = [(item, texts) for item in items if (texts := _texts(reader, item)) is not None]
        good = [one for one in read if judgement_of(run, one[0]) == "good"]
        bad = [one for one in read if judgement_of(run, one[0]) == "bad"]
        for chosen, of_chosen in good:
            for rejected, of_rejected in bad:
                if of_chosen.prompt == of_rejected.prompt:
                    yield PreferencePair(
                        of_chosen.prompt, of_chosen.response, of_rejected.response, run.id,
                        chosen.id, rejected.id, chosen.reward, rejected.reward,
                    )  # fmt: skip


def _texts(reader: Reader, item: SampleItem) -> Texts | None:
    try:
        return reader.texts(item.key)
    except (NotFound, SourceChanged):
        return None


def pair_lines(pairs: Iterable[PreferencePair]) -> Iterator[bytes]:
    """Yield pairs as lines of JSON; a reward that is not a number there is null."""
    for pair in pairs:
        record = pair._asdict()
        for name in ("chosen_reward", "rejected_reward"):
            record[name] = record[name] if record[name] is not None and abs(record[name]) < float("inf") else None
        yield text.clean(json.dumps(record, ensure_ascii=False)).encode() + b"\n"
