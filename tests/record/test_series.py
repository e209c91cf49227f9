"""Token series: which tokens they are of, and what is told where they do not fit."""

from pathlib import Path

import numpy as np
import pytest

from rolloupe.record import RecorderWarning
from tests.record.support import opened, recorder, series


def test_the_mask_says_what_the_response_is(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uid = record.sample(
            step=0, group="g", token_ids=[1, 2, 3, 4, 5],
            series={"logprobs": [9, 9, -1, -9, -2], "loss_mask": [0, 0, 1, 0, 1], "entropy": [1, 100, 1]},
        )  # fmt: skip
        record.annotate(uid, series={"trainer_logprobs": [7, 7, 7]})
        record.annotate(uid, series={"trainer_logprobs": [-1, 7, -3], "ref_logprobs": [8, 8, -1, 8, -2]})
        record.step_end(0)
    run = opened(tmp_path / "run")
    (sample,) = run.samples()
    assert (sample.prompt_tokens, sample.response_tokens) == (2, 3)
    assert run.metrics("optim/entropy")[0].value == 1.0
    assert run.metrics("optim/kl_sample_train_v1")[0].value == 0.5
    assert run.metrics("optim/kl_ref_k1")[0].value == -0.5
    shown = series(run.sample(sample.key))
    assert np.array_equal(shown["logprobs"], [np.nan, np.nan, -1, np.nan, -2], equal_nan=True)
    assert np.array_equal(shown["entropy"], [1, np.nan, 1], equal_nan=True)


def test_padding_by_the_attention_mask_has_no_values_and_counts_nowhere(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        given = {"entropy": [9, 1, 2, 9], "attention_mask": [0, 1, 1, 0]}
        record.sample(step=0, group="g", token_ids=[0, 1, 2, 0], series=given)
        record.step_end(0)
    run = opened(tmp_path / "run")
    (sample,) = run.samples()
    assert run.metrics("optim/entropy")[0].value == 1.5
    assert {name: value for name, value in sample.metrics.items() if "." not in name} == {"entropy": 1.5}
    shown = series(run.sample(sample.key))
    assert np.array_equal(shown["entropy"], [np.nan, 1, 2, np.nan], equal_nan=True)
    assert np.array_equal(shown["attention_mask"], [0, 1, 1, 0])


def test_series_of_another_length_are_kept_and_told(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        good = record.sample(step=0, group="g", token_ids=range(5), series={"logprobs": [1, 2], "entropy": range(5)})
        assert not record.failures
        with pytest.warns(RecorderWarning, match="whose length fits"):
            odd = record.sample(
                step=0, group="g", token_ids=[1, 2, 3], response_tokens=2, series={"long": range(9), "short": [4]}
            )
        record.annotate(good, series={"fits": [1, 2]})
        record.annotate(good, series={"wrong": [1, 2, 3]})
        record.annotate("of another process", series={"unknown": [1, 2, 3]})
        assert list(record.failures.values()) == [3]
    run = opened(tmp_path / "run")
    uneven = [(p.source, p.reason.rpartition(": ")[2]) for p in run.problems() if p.stop and "series" in p.reason]
    assert uneven == [("samples/rank0.jsonl", "long, short"), ("annotations/rank0.jsonl", "wrong")]
    assert series(run.sample("train/0/g/1")) == {"long": [*range(9)], "short": [4.0]}
    assert run.sample("train/0/g/1").row.uid == odd
    assert run.sample("train/0/g/0").notes == [
        "token series of another length than the 5 tokens, 2 of them of the response: wrong 3; shown at the last tokens"
    ]
    assert "long 9, short 1" in run.sample("train/0/g/1").notes[0]


def test_a_series_that_is_longer_than_all_tokens_is_told_with_where_and_how_long(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        with pytest.warns(
            RecorderWarning, match="'logprobs' has 4 where 3 fit, of split train, step 7, group g, index 2"
        ):
            record.sample(step=7, group="g", index=2, token_ids=[1, 2, 3], series={"logprobs": [0.1] * 4})
        record.sample(step=7, group="g", index=3, token_ids=[1, 2, 3], series={"logprobs": [0.1] * 9, "entropy": [1.0]})
        assert list(record.failures.values()) == [2]
    run = opened(tmp_path / "run")
    rows = [run.sample(key).row for key in ("train/7/g/2", "train/7/g/3")]
    assert [(row.prompt_tokens, row.response_tokens) for row in rows] == [(None, None), (2, 1)]
    assert [problem.reason.rpartition(": ")[2] for problem in run.problems()] == ["logprobs", "logprobs"]
