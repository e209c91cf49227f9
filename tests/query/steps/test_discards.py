"""What was generated and not trained on: counted by step and reason, listed apart, and left out of means."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import rolloupe
from rolloupe import Recorder, Run, SampleQuery, query
from rolloupe.index import OpenRun, Snapshot
from rolloupe.query.steps import moments as moments_module
from tests.formats.test_telescope import RUN
from tests.index.support import opened
from tests.query.sample.test_annotations import append, episode, note
from tests.thoroughness import amount, each


@pytest.fixture(scope="module")
def run(demo_index: Path) -> Iterator[Run]:
    with rolloupe.open(RUN, index_dir=demo_index) as runs:
        yield runs[0]


@pytest.fixture(scope="module")
def indexed(demo_index: Path) -> Iterator[OpenRun]:
    with opened(RUN, demo_index) as library:
        yield library.runs[0]


def test_counts_by_step_and_reason_are_those_of_the_samples(run: Run) -> None:
    found = list(run.discards("train"))
    everything = [item for item in run.samples(SampleQuery(splits=("train",))) if item.discarded]
    for one in found:
        own = [item for item in everything if (item.key.step, item.discarded) == (one.step, one.reason)]
        assert (one.samples, one.groups) == (len(own), len({item.key.group for item in own}))
        assert one.unfinished == sum(item.status == "aborted" for item in own)
        rewards = [item.reward for item in own if item.reward is not None]
        assert (one.at_zero, one.above_zero) == (rewards.count(0), sum(reward > 0 for reward in rewards))
    assert sum(one.samples for one in found) == len(everything) == 192
    assert sum(one.unfinished for one in found) == 36
    assert list(run.discards("eval/countdown")) == []


def test_a_step_says_how_many_were_trained_on_and_means_are_theirs(run: Run) -> None:
    trained = [item for item in run.samples(SampleQuery(splits=("train",))) if not item.discarded]
    for step in run.steps("train"):
        kept = [item for item in trained if item.key.step == step.step]
        rewards = [item.reward for item in kept if item.reward is not None]
        assert step.samples - step.discarded == len(kept)
        assert step.reward.count == len(rewards) and step.reward.excluded == 0
        assert step.reward.mean == pytest.approx(sum(rewards) / len(rewards)) if rewards else step.reward.mean is None
    points = {point.step: point.stats for point in run.series("reward", "train")}
    assert points == {step.step: step.reward for step in run.steps("train")}


@each("sort", amount(["reward"], ["index", "reward", "env"]))
@each("step", [None, 5])
@each("trained", [True, False])
def test_lists_hold_one_kind_alone(run: Run, indexed: OpenRun, trained: bool, step: int | None, sort: str) -> None:
    asked = SampleQuery(splits=("train",), step_min=step, step_max=step, sort=sort, trained=trained)
    found = list(run.samples(asked))
    everything = run.samples(SampleQuery(splits=("train",), step_min=step, step_max=step))
    assert {item.key for item in found} == {item.key for item in everything if bool(item.discarded) is not trained}
    assert run.total(asked) == len(found) > 0
    place = len(found) // 2
    page = query.samples(indexed, replace(asked, limit=3), around=found[place].key)
    assert found[place].key in [item.key for item in page.samples]


def test_groups_stand_where_their_samples_do(run: Run, indexed: OpenRun) -> None:
    for step in range(0, 11, amount(3, 1)):
        groups = query.groups(indexed, "train", step)
        asked = SampleQuery(splits=("train",), step_min=step, step_max=step)
        found = list(run.samples(asked))
        assert sum(group.samples for group in groups) == len(found)
        for group in groups:
            own = found[group.first : group.first + group.samples]
            assert {item.key.group for item in own} == {group.group}
            assert group.discarded == own[0].discarded


def test_a_run_without_discards_is_asked_as_before(demo_runs: Path) -> None:
    with rolloupe.open(demo_runs / "other_formats/relax") as runs:
        run = runs[0]
        assert list(run.discards()) == [] and run.total(SampleQuery(trained=False)) == 0
        assert run.total(SampleQuery(trained=True)) == run.total(SampleQuery()) > 0


def test_what_annotations_say_is_counted_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    append(folder, "stream/00000", episode("a", forks=2), episode("b"), episode("c", step=1))
    append(folder, "annotations/x/00000", note("a", effective=False), note("b", effective=True))
    with opened(folder, index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        (one,) = query.discards(run)
        assert (one.split, one.step, one.reason, one.samples, one.groups) == ("train", 0, "not effective", 2, 1)
        first, second = query.steps(run, "train")
        assert (first.samples, first.discarded, second.discarded) == (3, 2, 0)
        assert query.samples(run, SampleQuery(trained=True)).total == 2
        assert query.samples(run, SampleQuery(trained=False)).total == 2


def test_means_of_splits_are_those_of_their_steps_whatever_says_what_was_discarded(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", strict=True) as record:
        for step in range(3):
            uids = [record.sample(step=step, group="g", response="!", reward=float(n)) for n in range(3)]
            for uid in uids[2 - step :]:  # the last, the last two, all
                record.discard(uid, "stale")
            record.step_end(step)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        steps = query.steps(run, "train")
        assert [(step.discarded, step.reward.count, step.reward.mean) for step in steps] == [
            (1, 2, 0.5), (2, 1, 0.0), (3, 0, None),
        ]  # fmt: skip
        assert [point.stats for point in query.series(run, "reward", "train")] == [step.reward for step in steps]
        (train,) = query.splits(run)
        assert (train.samples, train.reward.count, train.reward.mean, train.reward.excluded) == (9, 3, 1 / 3, 0)


def test_the_split_to_begin_with_is_known_without_a_look_at_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recorder(tmp_path / "run", strict=True) as record:
        record.discard(record.sample(step=0, group="g", response="!", reward=1.0), "stale")
        record.step_end(0)
    looked: list[str] = []
    moments = moments_module.annotated_moments

    def told(run: OpenRun, snapshot: Snapshot, name: str) -> Any:
        looked.append(name)
        return moments(run, snapshot, name)

    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as run:
        monkeypatch.setattr(moments_module, "annotated_moments", told)
        assert [step.discarded for step in run.steps()] == [1]
        assert looked == ["reward"]  # once, for the steps themselves
        assert [group.group for group in run.groups(0)] == ["g"]
        assert looked == ["reward"]
