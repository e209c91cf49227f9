"""Real runs, walked from the list down to every series of every sample, as the page does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from rolloupe.demo import RUNS
from rolloupe.index import Library
from rolloupe.server.app import App
from tests.server.support import get, opened, served
from tests.thoroughness import amount, slow_unless

STEPS, SAMPLES = amount((1, 1), (8, 4))
"""About so many steps of each split, and samples of each of them."""

DATA = Path(__file__).parents[1] / "data"
METRICS_ALONE = ("public_real", "arithmetic", "json_logger", "first", "grpo-b")
"""Runs of formats with samples that hold none: those of the cookbook and of trackio."""


@pytest.fixture(
    scope="module",
    params=[slow_unless(False, RUNS), slow_unless(False, DATA), DATA / "prime_rl"],
    ids=["demo", "data", "prime_rl"],
)
def runs(request: pytest.FixtureRequest, demo_index: Path) -> Iterator[Library]:
    with opened(request.param, demo_index) as library:
        yield library


def fetched(app: App, run: Any, route: str, **asked: object) -> Any:
    answer = get(app, f"/api/runs/{quote(run['id'], safe='')}/{route}?{urlencode(asked)}")
    assert answer.status == 200, answer.body
    return answer.json


def test_every_sample_of_every_run_can_be_read(runs: Library) -> None:
    app = served(runs)
    listed = get(app, "/api/runs").json["runs"]
    assert listed
    for run in listed:
        has_metrics_alone = run["format"] == "curves" or run["name"] in METRICS_ALONE
        assert bool(run["splits"]) != has_metrics_alone
        for split in run["splits"]:
            steps = fetched(app, run, "steps", split=split["name"])
            of_steps = [kept + gone for kept, gone in zip(steps["samples"], steps["discarded"], strict=True)]
            assert sum(of_steps) == split["samples"]
            counted = list(zip(steps["steps"], of_steps, strict=True))
            for step, count in counted[:: max(1, len(counted) // STEPS)]:
                walk_step(app, run, split["name"], step, count)


def walk_step(app: App, run: Any, split: str, step: int, count: int) -> None:
    page = fetched(app, run, "samples", split=split, step=step, limit=5000)
    groups = fetched(app, run, "groups", split=split, step=step)["groups"]
    assert page["total"] == len(page["samples"]) == count == sum(group["samples"] for group in groups)
    for group in groups:
        members = page["samples"][group["first"] : group["first"] + group["samples"]]
        assert {item["group"] for item in members} == {group["group"]}
    for item in page["samples"][:: max(1, count // SAMPLES)]:
        walk_sample(app, run, item)


def walk_sample(app: App, run: Any, item: Any) -> None:
    sample = fetched(app, run, "sample", id=item["id"])
    assert (sample["id"], sample["reward"], sample["status"]) == (item["id"], item["reward"], item["status"])
    assert sample["group_ids"][sample["position"] - 1] == item["id"]
    assert sample["turns"] or sample["notes"]
    raw = fetched(app, run, "sample/raw", id=item["id"])
    assert len(raw["text"].encode()) == raw["stop"] - raw["start"]
