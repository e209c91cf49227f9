"""The curves that runs have, and the shares of groups, against every sample."""

import math
from collections import defaultdict
from pathlib import Path

import pytest

import rolloupe
from rolloupe.errors import BadQuery
from rolloupe.query import CurveQuery
from rolloupe.query.curves.points import GROUP_SHARES
from tests.thoroughness import slow_unless

DEMO = Path(rolloupe.__file__).parent / "demo/runs"
DATA = Path(__file__).parents[2] / "data"
RUNS = {
    "tiny_grpo": DEMO / "tiny_grpo", "relax": DEMO / "other_formats/relax",
    "board": DEMO / "other_formats/rl_logging_board",
    "telescope": DATA / "telescope/run_default", "tinker": DATA / "tinker/flat_run",
}  # fmt: skip


@pytest.mark.parametrize("name", [slow_unless(name in ("relax", "telescope"), name) for name in RUNS])
def test_every_curve_of_the_catalogue_can_be_asked_for(name: str, demo_index: Path) -> None:
    with rolloupe.open(RUNS[name], index_dir=demo_index) as runs:
        for run in runs:
            entries = run.catalogue()
            assert len({one.query for one in entries}) == len(entries)
            assert all(one.title and one.section for one in entries)
            trainer = [one.query.name for one in entries if one.query.kind == "trainer"]
            assert sorted(trainer) == sorted(run.metric_names())
            sections = [one.section for one in entries]
            assert sections == sorted(sections, key=sections.index), "each section stands together"
            curves = run.curves([one.query for one in entries])
            empty = [curve.query for curve in curves if not len(curve.steps) and curve.query.kind != "trainer"]
            assert empty == []


def _fits(low: float, high: float, share: str, values: list[float]) -> bool:
    fits = {
        "all_best": min(values) >= high, "all_worst": max(values) <= low,
        "without_spread": min(values) == max(values), "mixed": min(values) < max(values),
    }  # fmt: skip
    return fits[share]


@pytest.mark.parametrize("name", [slow_unless(name == "relax", name) for name in RUNS])
def test_shares_of_groups_equal_a_count_over_all_samples(name: str, demo_index: Path) -> None:
    with rolloupe.open(RUNS[name], index_dir=demo_index) as runs:
        for run in runs:
            split = run.splits()[0].name
            info = run.indexed().info
            ranges = {env: (low, high) for env, low, high in info.env_reward_ranges}
            rewards: dict[tuple[int, str], list[float]] = defaultdict(list)
            envs: dict[tuple[int, str], str] = {}
            for item in run.samples(split=split):
                if item.reward is not None and math.isfinite(item.reward):
                    rewards[item.key.step, item.key.group].append(item.reward)
                    envs[item.key.step, item.key.group] = item.env
            groups = {key: values for key, values in rewards.items() if len(values) > 1}
            for share in GROUP_SHARES:
                (curve,) = run.curves([CurveQuery(kind="group", name=share, source=split)])
                steps = sorted({step for step, _ in groups})
                expected = [
                    sum(
                        _fits(*ranges.get(envs[key], info.reward_range or (0.0, 1.0)), share, values)
                        for key, values in groups.items()
                        if key[0] == step
                    )
                    / sum(at == step for at, _ in groups)
                    for step in steps
                ]
                assert curve.steps.tolist() == steps and curve.values.tolist() == pytest.approx(expected)


def test_an_unknown_share_is_refused_with_the_known_ones(demo_index: Path) -> None:
    with rolloupe.open(RUNS["relax"], index_dir=demo_index) as runs, pytest.raises(BadQuery, match="all_best"):
        runs[0].curves([CurveQuery(kind="group", name="all_bset")])


def test_pass_at_1_is_that_of_the_page_of_evaluations(tmp_path: Path) -> None:
    """Of one prompt three answers of four are right, of another none of one: 0.375, and 0.6 of all answers."""
    answers = [("a", 1.0), ("a", 1.0), ("a", 1.0), ("a", 0.5), ("b", 0.0)]
    with rolloupe.Recorder(tmp_path / "run", code=None) as recorder:
        tries = [
            {"prompt": group, "response": "!", "group": group, "index": index, "reward": reward}
            for index, (group, reward) in enumerate(answers)
        ]
        recorder.samples(tries, step=0, split="eval/m")
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (summary,) = runs[0].evals()
        values = {
            one.title: runs[0].curve(one.query).values.tolist()
            for one in runs[0].catalogue()
            if one.section == "Evals" and one.query.options.k == 1
        }
    assert values == {"m": [0.7], "m pass@1": summary.steps[0].pass_at[:1], "m: right answers": [0.6]}
    assert summary.ks[0] == 1 and summary.steps[0].pass_at[0] == pytest.approx(0.375)
