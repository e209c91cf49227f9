"""Rules are silent where nothing is wrong, and right about the bundled runs."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

import rolloupe
from rolloupe import Recorder
from rolloupe.demo import RUNS
from rolloupe.insight import check
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.record.folder import own_launches
from tests.insight.quiet_runs import quiet_run
from tests.thoroughness import amount


def test_at_most_one_quiet_run_in_twenty_rings() -> None:
    runs = amount(60, 200)
    rung = [(seed, one.rule.name, one.alarm.title) for seed in range(runs) for one in check(quiet_run(seed)).raised]
    assert len({seed for seed, *_ in rung}) <= runs / 20, rung


def test_quiet_runs_have_what_rules_look_at() -> None:
    runs = [quiet_run(seed) for seed in range(30)]
    looked = {key[:3] for run in runs for key in run.histories}
    assert {("sample", "reward", "std"), ("token", "importance_ratio", "max"), ("samples", "", "count")} < looked
    kinds = {"sample", "group", "outcome", "token", "trainer", "eval", "samples", "share"}
    assert {kind for kind, *_ in looked} == kinds
    counts = [len(one) for run in runs for one in run.histories.values()]
    assert min(counts) < 40 and max(counts) > 3000


BUNDLED: dict[str, list[tuple[str, int, int]]] = {
    # At step 79 the trainer logged a KL of 2.1 after 0.25 at most, and five times the usual norm of the gradient. The
    # groups with tokens do not stand out, so that the link has no filter: it opens the step, the largest KL first.
    # This run learns to repeat "Check:" sentences, which its reward pays by mistake: from 2 % of the 4-grams to 36 %.
    "tiny_grpo": [("repeated_text", 72, 89), ("kl_spike", 79, 79)],
    # The others have one to four steps: too few to compare with each other.
    "other_formats/rl_logging_board/eval_poem_task": [],
    "other_formats/rl_logging_board/gen_train_toy": [],
    "other_formats/relax/rollout_result": [],
    "other_formats/trl": [],
    "other_formats/verl_math": [],
}


def test_each_alarm_about_a_bundled_run_is_right(demo_index: Path) -> None:
    for name, expected in BUNDLED.items():
        with rolloupe.open(RUNS / name, index_dir=demo_index) as runs:
            run = runs.only()
            run.wait(texts=bool(expected))
            suspects = [one.behaviour for one in run.findings().findings if one.kind in ("suspect", "unverified")]
            assert suspects == (["derived.repeated_sentences"] if expected else []), name
            found = run.check()
            assert [(one.rule.name, one.alarm.first_step, one.alarm.last_step) for one in found] == expected, name
            assert [bool(one.alarm.where) for one in found] == [one.rule.name != "kl_spike" for one in found]
            tokens = [(alarm.sample, alarm.series) for rule, alarm in found if rule.name == "kl_spike"]
            assert tokens == ([("train/79/01/6", "kl_k3")] if expected else [])
            for _, alarm in found:
                whole = SampleQuery(splits=("train",), step_min=alarm.first_step, step_max=alarm.last_step)
                shown = run.total(replace(whole, where=conditions(alarm.where)))
                assert 0 < shown < run.total(whole) + (not alarm.where)


def test_a_run_that_was_killed_and_resumed_rings_nothing(tmp_path: Path) -> None:
    random = np.random.default_rng(3)

    def train(first: int, stop: int, last_samples: int) -> None:
        with Recorder(tmp_path / "run", code=None) as run:
            for step in range(first, stop):
                for index in range(last_samples if step == stop - 1 else 16):
                    reward = float(random.random() < 0.4 + step / 100)
                    length = int(200 * np.exp(0.5 * random.standard_normal()))
                    run.sample(
                        step=step, group=str(index // 8), index=index, prompt="?", response="a b c d", reward=reward,
                        response_tokens=length,
                    )  # fmt: skip
                run.metrics(step, {"actor/kl": max(0, step - 3) / 1000 * np.exp(0.2 * random.standard_normal())})
        own_launches.clear()  # as another process would

    train(0, 25, last_samples=3)
    train(22, 45, last_samples=16)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert [one.alarm.title for one in runs.only().check()] == []
