"""Statistics and worst tokens of a run: what the index says is what the samples, read whole, hold."""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from rolloupe import query
from rolloupe.demo import RUNS
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.tokens.series import series_of
from rolloupe.tokens import DIFFERENCE, token_count
from tests.index.support import opened

DATA = Path(__file__).parents[2] / "data"
SHARES = (0.1, 1, 10, 50, 90, 99, 99.9)

Values = dict[SampleKey, np.ndarray[tuple[int], np.dtype[np.float64]]]


def runs() -> list[Path]:
    """Every sample run whose samples may have token series, but for the one that annotations complete."""
    native, prime = DATA / "native", DATA / "prime_rl"
    demo = (RUNS / "rl_logging_board" / "gen_train_toy", RUNS / "relax", RUNS / "verl_math")
    generic = (path for path in sorted((DATA / "generic").iterdir()))
    exports = (path for folder in ("mini", "exports") for path in sorted((prime / folder).iterdir()))
    return [native / "small", *exports, *demo, *generic]


def held(run: OpenRun) -> dict[str, dict[tuple[str, int], Values]]:
    """Every series of every sample, by name and step, as the page of a sample shows them."""
    found: dict[str, dict[tuple[str, int], Values]] = defaultdict(lambda: defaultdict(dict))
    for item in query.every(run, SampleQuery()):
        sample = query.sample(run, item.key)
        for one in series_of(sample, token_count(sample)):
            if one.name != "loss_mask" and np.isfinite(one.values).any():
                found[one.name][item.split, item.step][item.key] = one.values
    return found


@pytest.mark.parametrize("path", runs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_series_of_a_run_equals_what_its_samples_hold(path: Path, tmp_path: Path) -> None:
    with opened(path, tmp_path) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        assert run.problems() == [] or path.parent.name in ("mini", "exports", "native")
        expected = held(run)
        left_out = {name for name in expected if query.token_stats(run, SampleQuery(), name).coverage.left_out}
        names = set(query.series_names(run, SampleQuery()))
        assert names - left_out == expected.keys() - left_out
        for name in expected.keys() - left_out:
            agrees(run, name, expected[name])
        if not expected:
            assert not list(tmp_path.rglob("*.tokens.parquet"))


def agrees(run: OpenRun, name: str, by_step: dict[tuple[str, int], Values]) -> None:
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
    for scope, steps in scopes:
        for highest in (False, True):
            for one_a_sample in (False, True):
                is_worst(run, scope, name, {k: v for step in steps for k, v in by_step[step].items()},
                         highest=highest, one_a_sample=one_a_sample)  # fmt: skip


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


def test_of_a_group_and_of_a_sample_the_samples_are_read(tmp_path: Path) -> None:
    with opened(RUNS / "rl_logging_board" / "gen_train_toy", tmp_path) as library:
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
        alone = query.worst_tokens_of(run, key, "kl", limit=3)
        assert [one.value for one in alone] == sorted(samples[key], reverse=True)[:3]
        strings = query.sample(run, key).token_strings
        assert [one.token_string for one in alone] == [strings[one.token] for one in alone]


def test_token_ids_and_strings_come_from_the_index(tmp_path: Path) -> None:
    for path in (RUNS / "rl_logging_board" / "gen_train_toy", DATA / "prime_rl" / "exports", DATA / "native" / "small"):
        with opened(path, tmp_path) as library:
            for run in library.runs:
                assert run.wait_all(60)
                for one in query.worst_tokens(run, SampleQuery(), "logprobs", highest=False).tokens:
                    sample = query.sample(run, one.key)
                    at = one.token - (token_count(sample) - len(sample.token_strings))
                    if sample.token_strings and at >= 0:
                        assert one.token_string == sample.token_strings[at]
                    elif sample.token_ids:
                        assert one.token_id == sample.token_ids[one.token]


def test_more_tokens_than_the_index_keeps_are_refused(tmp_path: Path) -> None:
    with opened(RUNS / "tiny_grpo", tmp_path) as library, pytest.raises(BadQuery, match="from 1 to 64"):
        query.worst_tokens(library.runs[0], SampleQuery(), "logprobs", limit=65)


def test_what_annotations_complete_is_left_out_of_the_run_and_read_with_a_step(tmp_path: Path) -> None:
    with opened(RUNS / "tiny_grpo", tmp_path) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        whole = query.worst_tokens(run, SampleQuery(), "logprobs")
        assert whole.tokens == [] and "annotations add" in whole.coverage.left_out
        assert query.token_stats(run, SampleQuery(), "mismatch_kl").coverage.left_out
        of_step = SampleQuery(splits=("train",), step_min=3, step_max=3)
        samples = {
            item.key: one.values
            for item in query.every(run, of_step)
            for sample in [query.sample(run, item.key)]
            for one in series_of(sample, token_count(sample))
            if one.name == "mismatch_kl" and np.isfinite(one.values).any()
        }
        is_worst(run, of_step, "mismatch_kl", samples, highest=True, one_a_sample=True)
        assert query.samples(run, SampleQuery(sort="derived.max_mismatch_kl")).pending == 0
        assert not [item for item in query.every(run, of_step) if item.derived.get("max_mismatch_kl")]
