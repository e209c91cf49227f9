"""Statistics and worst tokens of a run: what the index says is what the samples, read whole, hold."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from msgspec.structs import replace

from rolloupe import Recorder, query, tokens
from rolloupe.demo import RUNS
from rolloupe.derive import token_metrics
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, StepKey
from rolloupe.index.token_stats import words
from rolloupe.model import Sample, SampleKey
from rolloupe.query import SampleQuery, WordsOfSteps
from rolloupe.query.filter.parser import Condition, HasToken, Not, conditions
from rolloupe.query.run.completion import complete
from rolloupe.query.run_tokens.statistics import token_series_answer
from rolloupe.query.run_tokens.words import TokenWord
from rolloupe.query.tokens.page import series_of, texts_of_tokens
from rolloupe.questions import TokenChangeQuery, TokenSeriesQuery
from rolloupe.tokens import DIFFERENCE, token_count
from tests.index.support import opened
from tests.thoroughness import amount, slow_unless

DATA = Path(__file__).parents[2] / "data"
SHARES = (0.1, 1, 10, 50, 90, 99, 99.9)

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Values: TypeAlias = dict[SampleKey, Floats]
Samples: TypeAlias = dict[tuple[str, int], list[tuple[Sample, dict[str, Floats]]]]


def runs() -> list[Path]:
    """Every sample run whose samples may have token series. Annotations complete those of two."""
    native, prime = DATA / "native", DATA / "prime_rl"
    demo = (
        RUNS / "tiny_grpo",
        RUNS / "other_formats/rl_logging_board" / "gen_train_toy",
        RUNS / "other_formats/relax",
    )
    exports = (path for folder in ("mini", "exports") for path in sorted((prime / folder).iterdir()))
    return [native / "small", prime / "traces" / "run_wordle", *exports, *demo, DATA / "generic/own"]


SLOW = {"tiny_grpo", "v1_pr2551", "v2_pr2592", "v4_pr2641", "v6_pr3189", "relax"}
"""Runs that are like others."""

CASES = [slow_unless(path.name not in SLOW, path) for path in runs()]


def names_of(run: OpenRun) -> list[str]:
    return [series.name for series in token_series_answer(run, TokenSeriesQuery()).series]


def changes_of(run: OpenRun, before: int, after: int, split: str = "train", **asked: Any) -> query.WordChanges:
    return query.word_changes(run, TokenChangeQuery(split=split, before=before, after=after, **asked))


class Indexed(NamedTuple):
    """A sample run, indexed, and every sample of it with its series, as the page of a sample shows them."""

    path: Path
    run: OpenRun
    samples: Samples


@pytest.fixture(scope="module", params=CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def indexed(request: pytest.FixtureRequest, short_grpo: Path, demo_index: Path) -> Iterator[Indexed]:
    """One of the sample runs, for every test that asks it."""
    path = short_grpo if request.param.name == short_grpo.name else Path(request.param)
    with opened(path, demo_index) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        yield Indexed(path, run, whole(run))


def whole(run: OpenRun) -> Samples:
    """Every sample with its series, discarded ones too."""
    found: Samples = defaultdict(list)
    for item in query.every(run, SampleQuery()):
        sample = query.sample(run, item.key)
        series = series_of(sample, token_count(sample))
        found[item.split, item.step].append((sample, {one.name: one.values for one in series}))
    return found


def kept(samples: Samples) -> Samples:
    """The samples that are not discarded, as far as their own files say so."""
    return {key: [(one, of) for one, of in some if not one.row.discarded] for key, some in samples.items()}


def by_name(samples: Samples) -> dict[str, dict[tuple[str, int], Values]]:
    """Every series of every sample, by name and step."""
    found: dict[str, dict[tuple[str, int], Values]] = defaultdict(lambda: defaultdict(dict))
    for step, some in kept(samples).items():
        for sample, series in some:
            for name, values in series.items():
                if name != "loss_mask" and np.isfinite(values).any():
                    found[name][step][sample.key] = values
    return found


def test_every_series_of_a_run_equals_what_its_samples_hold(indexed: Indexed) -> None:
    path, run, samples = indexed
    assert run.problems() == [] or path.parent.name in ("mini", "exports", "native")
    expected = by_name(samples)
    assert {*names_of(run)} == expected.keys()
    for number, (name, by_step) in enumerate(expected.items()):
        agrees(run, name, by_step, number)
    if not expected:
        assert not list(run.catalog.folder.rglob("*.tokens.parquet"))


def agrees(run: OpenRun, name: str, by_step: dict[tuple[str, int], Values], number: int) -> None:
    answer = query.token_stats(run, SampleQuery(), name, SHARES)
    assert (answer.coverage.pending, answer.coverage.unread) == (0, 0)
    assert {(one.split, one.step) for one in answer.steps} == by_step.keys()
    # a difference of two roundings is the same up to another rounding
    exact = 1e-9 if DIFFERENCE in name else 1e-15
    for one in answer.steps:
        samples = by_step[one.split, one.step]
        values = np.concatenate(list(samples.values()))
        finite = np.sort(values[np.isfinite(values)])
        means = [some[np.isfinite(some)].mean() for some in samples.values()]
        assert (one.tokens, one.samples, one.infinite) == (len(finite), len(means), int(np.isinf(values).sum()))
        assert one.mean == pytest.approx(finite.mean(), rel=1e-9, abs=exact)
        assert one.sample_mean == pytest.approx(np.mean(means), rel=1e-9, abs=exact)
        assert (one.min, one.max) == pytest.approx((finite[0], finite[-1]), rel=1e-9, abs=exact)
        for share, value in one.percentiles.items():
            true = finite[max(1, math.ceil(share / 100 * len(finite))) - 1]
            assert value == pytest.approx(true, rel=0.01, abs=1e-9 if DIFFERENCE in name else 1e-37)
    scopes = [(SampleQuery(), list(by_step))]
    scopes += [
        (SampleQuery(splits=(split,), step_min=step, step_max=step), [(split, step)])
        for split, step in list(by_step)[-1:]
    ]
    ways = [(highest, one_a_sample) for highest in (False, True) for one_a_sample in (False, True)]
    for nth, (scope, steps) in enumerate(scopes):
        samples = {key: values for step in steps for key, values in by_step[step].items()}
        of_series = (number + 3 * nth) % len(ways)
        for highest, one_a_sample in amount(ways[of_series : of_series + 1], ways):
            is_worst(run, scope, name, samples, highest=highest, one_a_sample=one_a_sample)


def is_worst(
    run: OpenRun, scope: SampleQuery, name: str, samples: Values, *, highest: bool, one_a_sample: bool
) -> None:
    answer = query.worst_tokens(run, scope, name, highest=highest, one_a_sample=one_a_sample, limit=30)
    some = [values[np.isfinite(values)] for values in samples.values()]
    ends = [(values.max() if highest else values.min()) for values in some] if one_a_sample else np.concatenate(some)
    expected = sorted(ends, reverse=highest)[:30]
    assert [one.value for one in answer.tokens] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for one in answer.tokens:
        assert samples[one.key][one.token] == pytest.approx(one.value, rel=1e-9, abs=1e-12)
    places = [one.key if one_a_sample else (one.key, one.token) for one in answer.tokens]
    assert len({*places}) == len(places)


def test_of_a_group_and_of_a_sample_the_samples_are_read(demo_index: Path) -> None:
    with opened(RUNS / "other_formats/rl_logging_board" / "gen_train_toy", demo_index) as library:
        run = library.runs[0]
        key = query.samples(run, SampleQuery(limit=1)).samples[0].key
        of_group = SampleQuery(splits=(key.split,), step_min=key.step, step_max=key.step, group=key.group)
        samples = {
            item.key: {one.name: one.values for one in series_of(whole, token_count(whole))}["kl"]
            for item in query.samples(run, of_group).samples
            for whole in [query.sample(run, item.key)]
        }
        is_worst(run, of_group, "kl", samples, highest=True, one_a_sample=False)
        (of_step,) = query.token_stats(run, of_group, "kl").steps
        values = np.concatenate(list(samples.values()))
        assert of_step.tokens == np.isfinite(values).sum()
        assert of_step.mean == pytest.approx(values[np.isfinite(values)].mean())


def test_token_ids_and_strings_come_from_the_index(demo_index: Path) -> None:
    for path in (
        RUNS / "other_formats/rl_logging_board" / "gen_train_toy",
        DATA / "prime_rl" / "exports",
        DATA / "native" / "small",
    ):
        with opened(path, demo_index) as library:
            for run in library.runs:
                assert run.wait_all(60)
                for one in query.worst_tokens(run, SampleQuery(), "logprobs", highest=False).tokens:
                    sample = query.sample(run, one.key)
                    at = one.token - (token_count(sample) - len(sample.token_strings))
                    if sample.token_strings and at >= 0:
                        assert one.token_string == sample.token_strings[at]
                    elif sample.token_ids:
                        assert one.token_id == sample.token_ids[one.token]


def test_more_tokens_than_the_index_keeps_are_refused(demo_index: Path, short_grpo: Path) -> None:
    with opened(short_grpo, demo_index) as library, pytest.raises(BadQuery, match="from 1 to 64"):
        query.worst_tokens(library.runs[0], SampleQuery(), "logprobs", limit=65)


def test_of_words_that_one_segment_kept_and_another_did_not_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "MAX_WORDS", 2)
    rare = ["a", "b", "c", "d", "e"]
    for launch, often in enumerate(("a", "b")):
        with Recorder(tmp_path / "run", producer=f"rank{launch}") as recorder:
            for step in range(2):
                strings = rare + [often] * (20 + 10 * step) + ["x"] * 30
                series = {"logprobs": np.full(len(strings), -1.0 - step)}
                recorder.sample(step=step, index=str(launch), prompt="p", response="r", tokens=strings, series=series)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        assert len(run.snapshot().segments) == 2
        first = step_words(run)["train", 0]
        assert {one.word: one.is_exact for one in first.words}["x"]
        assert not all(one.is_exact for one in first.words) and first.listed < first.tokens
        changes = changes_of(run, 0, 1, min_tokens=1)
        found = {one.after.word: one.change for one in changes.lost}
        assert "x" in found and found.keys().isdisjoint({"a", "b"}) and not changes.gained
        assert found == pytest.approx(dict.fromkeys(found, math.exp(-2) - math.exp(-1)))
        assert (changes.compared, changes.unknown) == (len(found), len(first.words) - len(found))
        with pytest.raises(BadQuery, match="neither probability nor share"):
            changes_of(run, 0, 1, by="kl")
        with pytest.raises(BadQuery, match="choose two different steps"):
            changes_of(run, 1, 1)
        with pytest.raises(NotFound, match="no samples at step 7"):
            changes_of(run, 0, 7)
        with pytest.raises(BadQuery, match="remove the group"):
            query.words_of_steps(run, SampleQuery(group="g"))


def test_discarded_samples_count_in_no_answer_about_whole_steps(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run") as recorder:
        for index, reason in enumerate(("", "zero_std")):
            policies = {"logprobs": [-1.0 - index, -2.0], "trainer_logprobs": [-1.0 - index, -2.0]}
            series = {**policies, "ref_logprobs": [-1.5, -math.inf]}
            recorder.sample(
                step=0, group="g", index=str(index), prompt="p", response="ab", advantage=1.0, discarded=reason,
                tokens=["a", "b"], series=series,
            )  # fmt: skip
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        every = SampleQuery()
        (stats,) = query.token_stats(run, every, "logprobs").steps
        assert (stats.tokens, stats.samples, stats.mean) == (2, 1, -1.5)
        assert [one.value for one in query.worst_tokens(run, every, "logprobs").tokens] == [-1.0, -2.0]
        assert query.position_curves(run, every, "logprobs").curves[0].means == [-1.0, -2.0]
        assert {one.tokens for one in query.masked_shares(run, every).shares} == {2}
        words = query.words_of_steps(run, every, by="tokens").words
        assert sorted((one.word, one.tokens, one.with_kl) for one in words) == [("a", 1, 1), ("b", 1, 0)]
        assert query.samples(run, SampleQuery(where=(HasToken("a"),))).total == 2
        assert query.token_stats(run, SampleQuery(group="g"), "logprobs").steps[0].tokens == 4
        assert query.why_none(run, SampleQuery(where=conditions("mean_entropy > 1"))) == [
            "No sample here has mean_entropy."
        ]
        assert query.why_none(run, SampleQuery(where=(HasToken("z"),))) == []


def test_shares_curves_and_words_of_a_step_equal_what_its_samples_hold(indexed: Indexed) -> None:
    has_masked(indexed.run, kept(indexed.samples))
    has_curves(indexed.run, kept(indexed.samples))
    has_words(indexed.run, kept(indexed.samples))
    has_tokens(indexed.run, indexed.samples)


def has_masked(run: OpenRun, samples: Samples) -> None:
    answer = query.masked_shares(run, SampleQuery())
    sums: dict[tuple[str, int, str], list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0.0, 0.0])
    for (split, step), some in samples.items():
        for sample, _ in some:
            series = series_of(sample, token_count(sample))
            inputs = tokens.loss_inputs(series)
            for rule, name in tokens.mask_rules(series, query.loss_of(run)) if inputs else ():
                assert inputs is not None
                compared = next(one.values for one in series if one.name == name)
                flags = rule.flags_of(compared, inputs.advantages, inputs.loss_mask)
                full = np.abs(tokens.update_rule(rule.name, {}).full_coefficients(inputs))
                full = np.where(np.isfinite(full), full, 0)
                of = sums[split, step, rule.name]
                for at, one in enumerate((inputs.loss_mask, *flags)):
                    of[at] += one.sum()
                of[4] += full.sum()
                of[5] += full[flags.masked].sum()
    shares = {(one.split, one.step, one.rule): one for one in answer.shares if one.rule != "recorded"}
    assert shares.keys() == {key for key, one in sums.items() if one[0]}
    for key, share in shares.items():
        count, masked, high, low, update, lost = sums[key]
        assert share.tokens == count
        assert (share.masked, share.high, share.low) == pytest.approx((masked / count, high / count, low / count))
        assert share.update_lost == (pytest.approx(lost / update) if update else None)


def has_curves(run: OpenRun, samples: Samples) -> None:
    for name in names_of(run):
        answer = query.position_curves(run, SampleQuery(), name)
        expected: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for key, some in samples.items():
            for _, series in some:
                if name not in series:
                    continue
                is_trained = tokens.trained({n: v for n, v in series.items() if not n.endswith(DIFFERENCE)})
                for position, token in enumerate(np.flatnonzero(is_trained)):
                    if math.isfinite(value := series[name][token]):
                        expected[key][position].append(value)
        for one in answer.curves:
            found = expected.pop((one.split, one.step))
            for first, end, count, mean in zip(one.first, [*one.first[1:], 10**9], one.tokens, one.means, strict=True):
                values = [value for position, some in found.items() if first <= position < end for value in some]
                assert count == len(values) and (mean is None) == (not values)
                if first < 64:
                    assert values == found.get(first, [])
                if values:
                    assert mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9 if DIFFERENCE in name else 1e-12)
        assert not any(expected.values())


def words_of(samples: Samples, kl: str) -> dict[tuple[str, int], dict[str, list[float]]]:
    """By step and word: tokens, the sum of their KL, how many have one, how many have a probability, their sum."""
    steps: dict[tuple[str, int], dict[str, list[float]]] = {}
    for key, some in samples.items():
        counts = steps.setdefault(key, defaultdict(lambda: [0, 0.0, 0, 0, 0.0]))
        for sample, series in some:
            if not series:
                continue
            total = token_count(sample)
            strings = [None] * (total - len(sample.token_strings)) + sample.token_strings
            ids = [*map(str, sample.token_ids), *[None] * total][:total]
            names = strings if sample.token_strings else ids
            is_trained = tokens.trained({n: v for n, v in series.items() if not n.endswith(DIFFERENCE)})
            probability = series.get("sampling_probability", series.get("probability", np.full(total, np.nan)))
            for token in np.flatnonzero(is_trained):
                if (word := names[token]) is not None:
                    of = counts[word]
                    of[0] += 1
                    of[1] += np.nan_to_num(series[kl][token]) if kl in series else 0
                    of[2] += kl in series and math.isfinite(series[kl][token])
                    of[3] += math.isfinite(probability[token])
                    of[4] += np.nan_to_num(probability[token])
    return steps


def sums(word: TokenWord) -> list[float]:
    return [word.tokens, word.kl, word.with_kl, word.rated, word.probability]


def step_words(run: OpenRun) -> dict[StepKey, WordsOfSteps]:
    """All words of each step that has some, the most frequent first."""
    answers = {}
    for split, number in run.snapshot().steps:
        step = SampleQuery(splits=(split,), step_min=number, step_max=number)
        answers[split, number] = query.words_of_steps(run, step, by="tokens", limit=1_000_000)
    return {key: answer for key, answer in sorted(answers.items()) if answer.tokens}


def has_words(run: OpenRun, samples: Samples) -> None:
    answers = step_words(run)
    if not answers:
        return
    by_step = words_of(samples, next(iter(answers.values())).kl)
    whole: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0, 0, 0.0])
    for key, step in answers.items():
        counts = by_step[key]
        assert step.tokens == sum(one[0] for one in counts.values()) == step.listed
        assert {one.word for one in step.words} == counts.keys() and all(one.is_exact for one in step.words)
        for one in step.words:
            assert sums(one) == pytest.approx(counts[one.word], rel=1e-6, abs=1e-9)
            whole[one.word] = [a + b for a, b in zip(whole[one.word], sums(one), strict=True)]
        frequent = sorted((one[0] for one in counts.values()), reverse=True)
        assert [one.tokens for one in step.words] == frequent
    for at, by in enumerate(("tokens", "kl")):
        some = query.words_of_steps(run, SampleQuery(), by=by, limit=30)
        largest = sorted((one[at] for one in whole.values()), reverse=True)[:30]
        assert [sums(one)[at] for one in some.words] == pytest.approx(largest)
        assert [sums(one) for one in some.words] == [pytest.approx(whole[one.word]) for one in some.words]
    keys = list(answers)
    for before, after in ((keys[0], keys[-1]), (keys[-1], keys[0])):
        if before[0] == after[0] and before != after:
            has_changes(run, before[0], before[1], after[1], by_step)


def has_changes(
    run: OpenRun, split: str, before: int, after: int, by_step: dict[tuple[str, int], dict[str, list[float]]]
) -> None:
    first, second = by_step[split, before], by_step[split, after]
    none = [0, 0.0, 0, 0, 0.0]
    for by, least in (("probability", 3), ("share", 5)):
        answer = changes_of(run, before, after, split=split, by=by, min_tokens=least, limit=15)
        assert answer.tokens == tuple(sum(one[0] for one in side.values()) for side in (first, second))
        expected = {}
        for word in first.keys() | second.keys():
            a, b = first.get(word, none), second.get(word, none)
            if by == "probability" and min(a[0], b[0]) >= least and min(a[3], b[3]):
                expected[word] = b[4] / b[3] - a[4] / a[3]
            if by == "share" and max(a[0], b[0]) >= least:
                expected[word] = b[0] / answer.tokens[1] - a[0] / answer.tokens[0]
        assert (answer.compared, answer.unknown, answer.min_tokens) == (len(expected), 0, least)
        for some, sign in ((answer.gained, 1), (answer.lost, -1)):
            changes = sorted((sign * one for one in expected.values() if sign * one > 1e-12), reverse=True)[:15]
            found = [one for one in some if abs(one.change) > 1e-12]
            assert [sign * one.change for one in found] == pytest.approx(changes)
            assert [one.change for one in found] == [pytest.approx(expected[one.after.word]) for one in found]
            for one in found:
                assert sums(one.before) == pytest.approx(first.get(one.after.word, none))


MOST = amount(2, 8)
"""The most frequent tokens of a run, by each of which its samples are filtered."""


def has_tokens(run: OpenRun, samples: Samples) -> None:
    """Filter by each of some tokens, and compare with the strings of the samples."""
    strings = {sample.key: trained_strings(run, sample) for some in samples.values() for sample, _ in some}
    every = Counter(text.strip() or text for some in strings.values() for text in some)
    wanted = [text for text, _ in every.most_common()]
    for text in dict.fromkeys([*wanted[:MOST], *wanted[-1:], " " + wanted[0] if wanted else "", "no such token", ""]):
        alike = {text} if text.startswith(" ") else {text, f" {text}"}
        expected = {key for key, some in strings.items() if some & alike}
        where = (HasToken(text),)
        page = query.samples(run, SampleQuery(where=where))
        assert ({item.key for item in page.samples}, page.pending) == (expected, 0), text
        assert query.samples(run, SampleQuery(where=(Not(HasToken(text)),))).total == len(strings) - len(expected)


def trained_strings(run: OpenRun, sample: Sample) -> set[str]:
    """The strings of the trained tokens of a sample, readable; the digits of ids without strings."""
    total = token_count(sample)
    series = {one.name: one.values for one in series_of(sample, total) if one.origin != "difference"}
    if not series:
        return set()
    texts = texts_of_tokens(sample)
    before = total - len(texts)
    words = [None] * before + texts if texts else [*map(str, sample.token_ids), *[None] * total][:total]
    return {word for at in np.flatnonzero(tokens.trained(series)) if (word := words[at]) is not None}


def test_samples_are_filtered_and_sorted_by_metrics_of_their_tokens(demo_index: Path) -> None:
    with opened(RUNS / "other_formats/rl_logging_board" / "gen_train_toy", demo_index) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        largest = {
            item.key: float(np.nanmax(one.values))
            for item in query.every(run, SampleQuery())
            for one in query.sample(run, item.key).series
            if one.name == "kl" and len(one.values)
        }
        bound = sorted(largest.values())[len(largest) // 2]
        filtered = SampleQuery(where=(Condition("derived.max_kl", ">", bound),))
        page = query.samples(run, filtered)
        assert {item.key for item in page.samples} == {key for key, value in largest.items() if value > bound}
        assert page.pending == 0 and page.total
        best = query.samples(run, SampleQuery(sort="derived.max_kl", descending=True, limit=5))
        assert [item.derived["max_kl"] for item in best.samples] == sorted(largest.values(), reverse=True)[:5]


def plain(run: OpenRun, name: str, bound: float) -> None:
    """Assert that the plain name of a metric filters, sorts, shows and charts as the prefixed one."""
    asked = [SampleQuery(where=conditions(f"{one} > {bound}"), sort=one) for one in (name, f"derived.{name}")]
    plainly, prefixed = (query.samples(run, one) for one in asked)
    assert plainly == prefixed
    values = [query.samples(run, asked[0], columns=[one]).samples for one in (name, f"derived.{name}")]
    assert [item.values for item in values[0]] == [item.values for item in values[1]]
    assert rounded(query.series(run, name)) == rounded(query.series(run, f"derived.{name}"))
    groups = [query.groups_page(run, one, [one.sort]) for one in asked]
    assert rounded(groups[0]) == rounded(groups[1])


def rounded(answer: object) -> str:
    """An answer in which means are the same up to the order in which threads add."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.12g}", repr(answer))


def test_metrics_of_tokens_are_asked_for_by_their_plain_names_unless_recorded(indexed: Indexed) -> None:
    path, run, _ = indexed
    samples = list(query.every(run, SampleQuery(sort="derived.characters", where=conditions(EVERY))))
    compared = 0
    for name in token_metrics():
        if name in run.snapshot().metrics:
            recorded = [item.metrics.get(name, math.nan) for item in samples]
            bound = float(np.nanmedian(recorded))
            page = query.samples(run, SampleQuery(where=conditions(f"{name} > {bound}")))
            assert page.total == np.sum(np.asarray(recorded) > bound) and page.pending == 0
            continue
        values = [item.derived[name] for item in samples if name in item.derived]
        assert values or (path.name, name) not in (("gen_train_toy", "mean_kl"), ("v7_head", "masked_share"))
        bound = float(np.median([float(one) for one in values])) if values else 0.0
        if compared < amount(2, math.inf):
            plain(run, name, bound)
            compared += bool(values)
        page = query.samples(run, SampleQuery(where=conditions(f"{name} > {bound}")))
        assert page.total == sum(float(value) > bound for value in values)


EVERY = " or ".join(f"derived.{name} is not null or derived.{name} is null" for name in token_metrics())


def test_a_recorded_metric_wins_and_a_text_value_is_no_metric(tmp_path: Path) -> None:
    for step in range(3):
        with Recorder(tmp_path / "run", code=None, producer=f"rank{step}") as recorder:
            metrics = {"max_kl": 5.0, "characters": 5.0} if step == 1 else {}
            recorder.sample(step=step, prompt="p", response="r", metrics=metrics, tags={"kind": "masked_share"})
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(60)
        both = SampleQuery(where=conditions("characters > 1 or derived.characters > 0"))
        assert query.samples(run, SampleQuery(where=conditions("max_kl > 1"))).total == 1
        values = [item.values for item in query.samples(run, both, columns=["characters"]).samples]
        assert values == [[None], [5.0], [None]]
        names = query.value_names(run)
        assert query.derived_names(SampleQuery(where=conditions("max_kl > 1")), *names) == ()
        assert query.derived_names(SampleQuery(where=conditions("kind = masked_share")), *names) == ()
        assert query.derived_names(SampleQuery(where=conditions("reward < mean_kl")), *names) == ("mean_kl",)
        listed = [one.text for one in complete(run, SampleQuery(), "max_").found]
        assert listed.count("max_kl") == 1 and {"derived.max_kl", "max_mismatch_kl"} <= {*listed}
        (max_kl,) = (one for one in complete(run, SampleQuery(), "max_").found if one.text == "max_kl")
        assert max_kl.note == "metric"
        assert complete(run, SampleQuery(), "mean_kl ").found[0].text == "="


def test_a_series_may_have_another_framework_s_name(short_grpo: Path, demo_index: Path) -> None:
    with opened(short_grpo, demo_index) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        item = query.samples(run, SampleQuery(limit=1)).samples[0]
        group = SampleQuery(splits=(item.split,), step_min=item.key.step, step_max=item.key.step, group=item.group)
        for other, name in (("kl", "kl_k3"), ("rollout_log_probs", "logprobs"), ("ratio", "importance_ratio")):
            found = query.worst_tokens(run, group, other)
            assert found == query.worst_tokens(run, group, name) and found.tokens and found.series == name
            query.in_known_series(run, other)
        assert query.worst_tokens(run, SampleQuery(), other) == query.worst_tokens(run, SampleQuery(), name)
        for scope in (SampleQuery(), group):
            assert query.token_stats(run, scope, other) == query.token_stats(run, scope, name)
        step = replace(group, group=None)
        assert query.position_curves(run, step, other) == query.position_curves(run, step, name)
        with pytest.raises(NotFound, match=r"no token series 'entropie' in run .*; it has: .*entropy"):
            query.in_known_series(run, "entropie")
