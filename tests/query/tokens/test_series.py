"""Recorded, derived and differing series of samples, against what prime-rl's trainer and RLLoggingBoard wrote."""

import math
from array import array
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import tokens
from rolloupe.model import Locator, Sample, SampleKey, SampleRow, TokenSeries
from rolloupe.query import token_page
from rolloupe.query.tokens.page import series_of
from rolloupe.tokens import SampleSeries, loss_inputs, mask_rules, token_count

DATA = Path(__file__).parents[2] / "data/prime_rl"
EXPORTS = ["exports/v4_pr2641", "exports/v6_pr3189", *(f"mini/{one.name}" for one in sorted((DATA / "mini").iterdir()))]


def every_sample(folder: Path, index_dir: Path) -> list[Sample]:
    with rolloupe.open(folder, index_dir=index_dir) as runs:
        return [run.sample(item.key) for run in runs for item in run.samples()]


def all_series(sample: Sample) -> dict[str, SampleSeries]:
    return {one.name: one for one in series_of(sample, token_count(sample))}


@pytest.mark.parametrize("name", EXPORTS)
def test_computed_series_and_dppo_agree_with_what_the_trainer_wrote(name: str, demo_index: Path) -> None:
    samples = [all_series(sample) for sample in every_sample(DATA / name, demo_index)]
    are_those_of_the_trainer(samples)
    takes_out_what_the_trainer_flagged(samples)


def are_those_of_the_trainer(samples: list[dict[str, SampleSeries]]) -> None:
    compared = 0
    for series in samples:
        ratios = series["importance_ratio"].values
        for one in ("importance_ratio", "log_importance_ratio", "mismatch_kl", "prob_delta"):
            if one not in series or one + tokens.DIFFERENCE not in series:
                continue
            assert (series[one].origin, series[one + tokens.DIFFERENCE].origin) == ("recorded", "difference")
            gaps = np.abs(series[one + tokens.DIFFERENCE].values)
            known = ~np.isnan(gaps)
            assert (gaps[known] <= 1e-6 * np.maximum(1, ratios[known])).all()
            compared += int(known.sum())
    assert compared > 0


def takes_out_what_the_trainer_flagged(samples: list[dict[str, SampleSeries]]) -> None:
    rule, compared = tokens.DPPO, 0
    for series in samples:
        flags = series["is_masked"].values if "is_masked" in series else np.zeros(0)
        if np.isnan(flags).all():
            continue
        inputs = loss_inputs(list(series.values()))
        assert inputs is not None
        found = rule.flags(inputs)
        known = ~np.isnan(flags) & ~np.isnan(inputs.deltas)
        near = (
            np.minimum(abs(inputs.deltas - rule.thresholds["high"]), abs(inputs.deltas + rule.thresholds["low"]))
            <= 1e-6
        )
        for recorded, computed in (("is_masked", found.masked), ("is_masked_high", found.high)):
            differs = (series[recorded].values == 1) != computed
            assert not (differs & known & ~near).any(), recorded
        compared += int(known.sum())
    assert compared > 0


def made(advantage: float | None = None, **series: list[float]) -> Sample:
    row = SampleRow(split="train", step=0, group="g", index="0", ordinal=0, start=0, length=0, advantage=advantage)
    arrays = [TokenSeries(name=name, values=array("d", values)) for name, values in series.items()]
    key = SampleKey("train", 0, "g", "0")
    return Sample(key=key, row=row, locator=Locator(source="s", start=0, length=0), turns=[], series=arrays)


def test_what_a_sample_has_decides_which_series_follow() -> None:
    sample = made(2.0, logprobs=[-1.0, -2.0, math.nan], ref_logprobs=[-1.5, -2.0, -1.0])
    series = all_series(sample)
    assert list(series) == [
        "logprobs", "ref_logprobs", "probability", "ref_probability", "log_ratio", "kl_k2", "kl_k3", "advantages",
    ]  # fmt: skip
    np.testing.assert_allclose(series["log_ratio"].values, [0.5, 0.0, math.nan])
    np.testing.assert_allclose(series["kl_k2"].values, [0.125, 0.0, math.nan])
    np.testing.assert_allclose(series["kl_k3"].values, [math.exp(-0.5) - 1 + 0.5, 0.0, math.nan])
    np.testing.assert_allclose(series["advantages"].values, [2.0, 2.0, math.nan])
    assert mask_rules(list(series.values())) == []  # nothing to compare with: one policy alone
    assert all_series(made(entropy=[1.0])).keys() == {"entropy"}
    assert series_of(made(), 0) == []


def test_a_recorded_series_wins_and_the_difference_is_a_series_of_its_own() -> None:
    series = all_series(made(logprobs=[-1.0, -1.0], trainer_logprobs=[-0.5, -1.0], importance_ratio=[2.0, 1.0]))
    np.testing.assert_array_equal(series["importance_ratio"].values, [2.0, 1.0])
    np.testing.assert_allclose(series["importance_ratio_difference"].values, [2.0 - math.exp(0.5), 0.0])
    assert series["importance_ratio"].origin == "recorded" and series["prob_delta"].origin == "derived"
    np.testing.assert_allclose(series["sequence_ratio"].values, [math.exp(0.25)] * 2)


def test_the_clip_compares_with_the_policy_before_the_step_where_it_is_known() -> None:
    at_sampling = made(1.0, logprobs=[-1.0], trainer_logprobs=[-0.5])
    assert [(rule.name, name) for rule, name in mask_rules(list(all_series(at_sampling).values()))] == [
        ("dppo", "prob_delta"), ("icepop", "importance_ratio"), ("icepop_ant", "importance_ratio"),
        ("ipo", "prob_delta"), ("ppo", "importance_ratio"), ("dapo", "importance_ratio"), ("gspo", "sequence_ratio"),
    ]  # fmt: skip
    series = list(all_series(made(1.0, logprobs=[-1.0], trainer_logprobs=[-0.5], old_logprobs=[-0.6])).values())
    assert ("ppo", "update_ratio") in [(rule.name, name) for rule, name in mask_rules(series)]
    inputs = loss_inputs(series)
    assert inputs is not None
    np.testing.assert_allclose(inputs.ratios, [math.exp(0.1)])
    np.testing.assert_allclose(inputs.engine_ratios, [math.exp(0.5)])
    without = mask_rules(list(all_series(made(logprobs=[-1.0], trainer_logprobs=[-0.5])).values()))
    assert [rule.name for rule, _ in without] == ["icepop", "icepop_ant", "ipo"]  # the others look at the advantage


def test_at_the_first_minibatch_the_policy_is_that_before_the_step() -> None:
    sample = made(1.0, logprobs=[-1.0, -2.0], old_logprobs=[-0.5, -2.0], ref_logprobs=[-1.5, -2.0])
    series = all_series(sample)
    np.testing.assert_allclose(series["importance_ratio"].values, [math.exp(0.5), 1.0])
    np.testing.assert_allclose(series["mismatch_kl"].values, [math.exp(0.5) - 1.5, 0.0])
    np.testing.assert_allclose(series["log_ratio"].values, [1.0, 0.0])
    np.testing.assert_array_equal(series["update_ratio"].values, [1.0, 1.0])
    inputs = loss_inputs(list(series.values()))
    assert inputs is not None
    np.testing.assert_array_equal(inputs.ratios, [1.0, 1.0])
    np.testing.assert_allclose(inputs.engine_ratios, [math.exp(0.5), 1.0])
    assert token_page(sample).updates[1:3] == ["importance_sampling", "ppo"]  # the engine's logprobs are others
    assert token_page(made(1.0, logprobs=[-1.0])).updates == ["reinforce"]


def test_the_ratio_of_a_sequence_is_that_of_the_clip() -> None:
    mask = [1.0, 1.0, 0.0]
    sample = made(
        1.0, logprobs=[-1.0, -1.0, 9.0], old_logprobs=[-0.75, -0.5, 9.0], trainer_logprobs=[-0.5] * 3, loss_mask=mask
    )
    series = all_series(sample)
    inputs = loss_inputs(list(series.values()))
    assert inputs is not None and inputs.sequence_ratio == pytest.approx(math.exp(0.125))
    np.testing.assert_allclose(series["sequence_ratio"].values, [math.exp(0.125)] * 2 + [math.nan])
    recorded = {one.name: np.array(one.values) for one in sample.series}
    batch = tokens.TokenBatch([0], [tokens.SampleTokens(3, recorded)], [1.0])
    assert batch.loss_inputs is not None
    np.testing.assert_allclose(batch.loss_inputs.compared("sequence_ratio")[:2], [math.exp(0.125)] * 2)


def test_a_mask_counts_what_it_weighs_in_every_place() -> None:
    """A weight of a half counts its token; NaN and 0 do not."""
    mask = np.array([0.0, 0.5, 1.0, math.nan])
    logprobs = np.array([-1.0, -2.0, -3.0, -4.0])
    np.testing.assert_array_equal(tokens.under_mask(logprobs, mask), [math.nan, -2.0, -3.0, math.nan])
    recorded = {"logprobs": logprobs, "trainer_logprobs": logprobs + 1, "loss_mask": mask}
    assert tokens.trained(recorded).tolist() == [False, True, True, False]
    gaps = tokens.computed_series(recorded, mask, None)["sequence_ratio"]
    assert np.isnan(gaps).tolist() == [True, False, False, True]
    batch = tokens.TokenBatch([0], [tokens.SampleTokens(4, {"loss_mask": mask})], [None])
    assert batch.places.tolist() == [1, 2]


def test_of_the_board_kl_and_log_ratio_are_derived(demo_runs: Path, demo_index: Path) -> None:
    samples = every_sample(demo_runs / "other_formats/rl_logging_board", demo_index)
    with_reference = [sample for sample in samples if any(one.name == "ref_logprobs" for one in sample.series)]
    assert with_reference
    for sample in with_reference:
        series = all_series(sample)
        assert {series[name].origin for name in ("kl", "log_ratio")} == {"derived"}
        assert not any(name.endswith(tokens.DIFFERENCE) for name in series)
        kl, ratios = series["kl"].values, series["log_ratio"].values
        np.testing.assert_allclose(kl, np.expm1(ratios) - ratios, rtol=1e-12)
        assert sample.row.metrics["avg_kl"] == pytest.approx(np.nanmean(kl))
        assert sample.row.metrics["sum_log_ratio"] == pytest.approx(np.nansum(ratios))


def test_every_series_of_the_bundled_runs_has_a_title(demo_runs: Path, short_grpo: Path, demo_index: Path) -> None:
    for folder in (short_grpo, *(one for one in sorted(demo_runs.iterdir()) if one.is_dir())):
        if folder == demo_runs / short_grpo.name:
            continue
        with rolloupe.open(folder, index_dir=demo_index) as runs:
            for run in runs:
                item = next(iter(run.samples()), None)
                names = all_series(run.sample(item.key)) if item else {}
                assert [name for name in names if tokens.kind_of(name).title == name] == [], folder
