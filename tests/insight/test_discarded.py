"""Which samples count: what the model wrote is all of it, the update is of trained samples; each figure says so."""

from pathlib import Path

import pytest

from rolloupe import Recorder, query
from rolloupe.insight import findings as search
from rolloupe.insight.gradient import gradient
from rolloupe.insight.lint import lint
from rolloupe.insight.reward_components import parts
from rolloupe.query import CurveOptions, CurveQuery
from rolloupe.questions import FindingQuery
from tests.index.support import opened

STEPS = 12
EQUAL = (0.3, 0.1 + 0.2, 0.3, 0.3 * (1 + 1e-9))
"""Rewards that differ by rounding errors; so do their advantages differ from 0."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step has three groups of four: one of equal rewards, two whose rewards differ, of which one was discarded."""
    folder = tmp_path_factory.mktemp("discarded")
    with Recorder(folder / "run", code=None) as record:
        for step in range(STEPS):
            for group, rewards, reason in (
                ("same", EQUAL, ""),
                ("apart", (0, 1, 0, 1), ""),
                ("left", (0, 1, 1, 1), "stale"),
            ):
                for number, reward in enumerate(rewards):
                    record.sample(
                        step=step, group=group, index=number, prompt=group, reward=float(reward), discarded=reason,
                        response=f"{group} well then {'good' if reward == 1 else 'bad'}", status="completed",
                        advantage=1e-9 * number if group == "same" else reward - 0.5,
                        metrics={"reward.a": float(reward)},
                    )  # fmt: skip
    return folder


def test_every_figure_says_whether_discarded_samples_count(folder: Path) -> None:
    every, left = 12 * STEPS, 4 * STEPS
    with opened(folder / "run", index_dir=folder / "index") as library:
        run = library.runs[0]
        also = f"Of {every} samples {left} were discarded, and count as well."
        assert search.findings(run).note.endswith(also) and search.findings(run).note.endswith(also)  # kept, too
        assert also in parts(run).note or parts(run).samples == 0
        window = FindingQuery(step_min=1, step_max=2)
        assert search.findings(run, window).note.endswith("Of 24 samples 8 were discarded, and count as well.")
        checked = lint(run)
        assert (checked.samples, checked.discarded) == (every, left)
        update = gradient(run)
        assert (update.samples, update.discarded, update.groups) == (every - left, left, 3 * STEPS)
        curves = query.curve_catalogue(run, "train")
        counted = {one.query.name: one.about for one in curves if one.query.kind in ("share", "group")}
        for name in ("completed", "without_spread", "mixed"):
            assert "discarded ones too" in counted[name]
        assert "of the trained samples" in counted["zero_advantage"]


def test_rewards_are_equal_and_advantages_zero_within_one_tolerance(folder: Path) -> None:
    with opened(folder / "run", index_dir=folder / "index") as library:
        run = library.runs[0]
        options = CurveOptions()
        flat = query.curve(run, CurveQuery(kind="group", name="without_spread", stat="count", options=options))
        zero = query.curve(run, CurveQuery(kind="share", name="zero_advantage", stat="count", options=options))
        assert set(flat.values.tolist()) == {1.0} and gradient(run).dead == STEPS
        assert set(zero.values.tolist()) == {4.0}, "those of the group of equal rewards"
