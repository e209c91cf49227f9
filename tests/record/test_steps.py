"""Steps: what their end adds to the metrics, and what is known of the samples of those that go on."""

import math
import threading
from pathlib import Path

import numpy as np
import pytest

from rolloupe.record import RecorderWarning
from rolloupe.record.open_steps import OpenSample, OpenSteps
from tests.record.support import opened, recorder


def test_step_end_adds_what_the_trainer_did_not_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sampled, trained = (-rng.random((2, 2, 5)).astype(np.float32) for _ in "ab")
    rewards = np.array([[0.0, 1.0], [1.0, 1.0]])
    with recorder(tmp_path / "run") as record:
        for group in range(2):
            for index in range(2):
                uid = record.sample(
                    step=4, group=group, reward=rewards[group, index], env=f"env{group}", response_tokens=5,
                    prompt_tokens=3, turns=2, metrics={"format": index}, series={"logprobs": sampled[group, index]},
                )  # fmt: skip
                record.annotate(uid, series={"trainer_logprobs": trained[group, index]})
        record.metrics(4, {"progress/batch": 400})
        record.step_end(4)
    run = opened(tmp_path / "run")
    named = {name: run.metrics(name)[0].value for name in run.metric_names()}
    gap = (sampled.astype(float) - trained).ravel()
    wanted = {
        "progress/batch": 400.0, "env/all/reward/total": 0.75, "env/env0/reward/total": 0.5, "env/all/format": 0.5,
        "env/all/ac_tokens_per_turn": 2.5, "env/all/ob_tokens_per_turn": 1.5, "env/all/turns_per_episode": 2.0,
        "env/all/total_episodes": 4.0, "env/all/by_group/frac_mixed": 0.5, "env/all/by_group/frac_all_good": 0.5,
        "env/all/by_group/frac_all_bad": 0.0, "optim/kl_sample_train_v1": gap.mean(),
        "optim/kl_sample_train_v2": (gap**2).mean() / 2,
    }  # fmt: skip
    assert {name: named[name] for name in wanted} == pytest.approx(wanted)


def test_sums_of_all_processes_make_the_means_of_a_run(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", producer="rank0") as one, recorder(tmp_path / "run", producer="rank10") as other:
        for index in range(4):
            one.sample(step=0, group="a", index=index, reward=0.0)
        other.sample(step=0, group="b", index=0, reward=1.0)
        other.sample(step=0, group="b", index=1, reward=math.nan)
        for record in (one, other):
            record.step_end(0)
    run = opened(tmp_path / "run")
    wanted = {
        "env/all/reward/total": 0.2, "env/all/total_episodes": 6.0, "env/all/by_group/frac_all_bad": 0.5,
        "env/all/by_group/frac_all_good": 0.5, "env/all/by_group/frac_mixed": 0.0,
    }  # fmt: skip
    assert {name: run.metrics(name)[0].value for name in wanted} == wanted


def test_evaluations_have_metrics_of_their_own(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.samples([{"reward": 1.0}, {"reward": 0.0}], step=3, split="eval/held_out", group="g")
        record.step_end(3)
    assert opened(tmp_path / "run").metrics("eval/held_out/env/all/reward/total")[0].value == 0.5


@pytest.mark.slow
def test_threads_may_record_while_a_step_ends(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        stop = threading.Event()

        def roll_out(thread: int) -> None:
            for index in range(10_000):
                if stop.is_set():
                    return
                record.sample(step=index // 50, group=thread, index=index, reward=1.0, env=f"e{index % 7}")

        threads = [threading.Thread(target=roll_out, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for step in range(40):
            record.step_end(step)
        stop.set()
        for thread in threads:
            thread.join()
        assert record.failures == {}


def test_two_samples_that_are_called_the_same_are_told_once(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", index=0, uid="dup")
        with pytest.warns(RecorderWarning, match="two samples have the uid 'dup'"):
            record.sample(step=0, group="g", index=1, uid="dup")
        with pytest.warns(RecorderWarning, match="at split train, step 0, group g, index 0: the first becomes"):
            record.sample(step=0, group="g", index=0)
        for _ in range(3):
            record.sample(step=0, group="g", index=0, uid="dup")
        assert record.failures == {}


def test_a_step_that_has_ended_may_be_recorded_again(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        for _ in range(2):
            record.sample(step=0, group="g", index=0, uid="same")
            record.sample(step=0, group="g", index=0, uid="other", split="eval/x")
            record.step_end(0)


def test_places_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolloupe.record.open_steps.MAX_SAMPLES", 10)
    steps, sample = OpenSteps(None), OpenSample((0, "train"), frozenset())
    for index in range(100):
        assert steps.add("", sample, "g", str(index)) == ""
    assert [steps.add("", sample, "g", index) for index in ("99", "91", "0")] == ["place", "place", ""]
