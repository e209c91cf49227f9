"""The link of an alarm leads to the samples that show it, and to no others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.api import Run
from rolloupe.insight import RULES, Alarm
from rolloupe.query import SampleQuery

STEPS, SIZE = 40, 24
LATE = 30


@pytest.fixture(scope="module")
def bad_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run on which much goes wrong from step 30 on."""
    folder = tmp_path_factory.mktemp("bad")
    with Recorder(folder / "run", code=None) as run:
        for step in range(STEPS):
            _record(run, step, is_late=step >= LATE)
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        runs.only().wait(texts=True)
        yield runs.only()


def _record(run: Recorder, step: int, *, is_late: bool) -> None:
    for index in range(SIZE):
        is_right = index % 2 == 0 and not (is_late and index > 8)
        spike = 100.0 if step == 36 and index == 3 else 1.0
        response = "again and again and " * 20 if is_late and index > 8 else " ".join(map(str, range(step, step + 40)))
        run.sample(
            step=step, group=str(index // 6), index=index, prompt="?", reward=float(is_right),
            advantage=0.0 if is_late and index > 11 else 1.0,
            response=("<think> never closed " if is_late and index > 11 else "") + response,
            response_tokens=[100, 90 if is_right else 160][index > 3] * (6 if is_late and index > 4 else 1),
            tokens=["a", "b"], series={"logprobs": [-1.0, -1.0], "ref_logprobs": [-1.0, -1.0 - 0.1 * spike],
                                       "entropy": [0.02, 0.02] if is_late and index > 2 else [1.0, 1.0 + index / 10]},
        )  # fmt: skip
        if step % 2 == 0 and step:
            run.sample(
                step=step, split="eval/math", group=str(index), prompt=f"{index}?", response="4", index=0,
                reward=float(index < 14 - step // 3),
            )  # fmt: skip


def _shown(run: Run, alarm: Alarm) -> tuple[int, int]:
    """The number of samples that the link shows, and of those in its steps."""
    split, steps = alarm.split or "train", (alarm.first_step, alarm.last_step)
    whole = SampleQuery(splits=(split,), step_min=steps[0], step_max=steps[1])
    return len([*run.samples(where=alarm.where, split=split, steps=steps)]), run.total(whole)


WITH_FILTER = {
    "entropy_collapse", "kl_spike", "length_explosion", "no_spread", "repeated_text", "reward_collapse",
    "unclosed_think",
}  # fmt: skip


def test_the_link_of_an_alarm_shows_some_of_its_samples(bad_run: Run) -> None:
    found = {one.rule.name: one.alarm for one in bad_run.check()}
    assert found.keys() >= WITH_FILTER, found.keys()
    for rule in WITH_FILTER:
        shown, whole = _shown(bad_run, found[rule])
        assert found[rule].where and 0 < shown < whole, (rule, found[rule].where, shown, whole)
    assert found["kl_spike"].where.startswith("derived.max_kl > ") and _shown(bad_run, found["kl_spike"])[0] == 1


def test_a_rise_of_discarded_samples_names_its_reasons_and_shows_them(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as run:
        for step in range(40):
            flat, stale = (12, 2) if step >= 30 else (1, 0)
            for index in range(20):
                reason = "zero advantage" if index < flat else "stale" if index < flat + stale else ""
                run.sample(
                    step=step, group=str(index // 4), index=index, prompt="?", response="!", reward=1.0,
                    discarded=reason,
                )  # fmt: skip
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        answer = runs.check()
        (alarm,) = [one.alarm for one in answer if one.rule.name == "discarded_rise"]
        assert (alarm.title, alarm.first_step, alarm.last_step) == ("Discarded samples rise to 70%", 30, 39)
        assert alarm.text.endswith("; 5% in steps 0 to 7; reasons: zero advantage +55%, stale +10%")
        assert alarm.discarded and alarm.where == 'discarded = "zero advantage"'
        assert _shown(runs.only(), alarm) == (120, 200)
        table = answer.arrow()
        assert table["rule"].to_pylist() == [one.rule.name for one in answer] and "discarded_rise" in repr(answer)
        assert answer.pandas()["first_step"].tolist() == [one.alarm.first_step for one in answer]
        assert {one.rule for one in answer.unchecked} | {*answer.checked} == RULES.keys()
