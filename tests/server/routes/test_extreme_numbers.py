"""Rewards that are not finite, or near the largest number: every question has an answer, without a warning."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe import Recorder
from rolloupe.questions import QUESTIONS
from rolloupe.server.app import App
from tests.cli.support import rolloupe
from tests.server.support import get, opened, served

REWARDS = {
    "missing": [math.nan, math.inf, -math.inf, math.nan],
    "mixed": [math.nan, math.inf, 1.0, 0.0],
    "huge": [1.7e308, -1.7e308, 1e308, 1.0],
    "high": [1.7e308, 1.7e308, 1.7e308, 1e308],
}
ASKED = {
    "step-values": "&step=0&names=reward&names=score&also=large", "prompt": "id=train/0/0/0", "complete": "&text=re",
    "token-steps": "series=logprobs", "token-positions": "&step=0&series=logprobs",
    "worst-tokens": "series=logprobs",
    "token-changes": "&before=0&after=1",
}  # fmt: skip
"""Further parameters of questions; those that begin with & need a split, too."""
OF_SPLIT = ("discards", "columns", "judging-queue", "grid")
ELSEWHERE = ("prompt-samples", "evals/answers")
"""Questions about one prompt, which a test has to know."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extreme")
    for name, rewards in REWARDS.items():
        with Recorder(folder / name, code=None) as run:
            for step, group, index in itertools.product(range(12), range(2), range(4)):
                reward = rewards[(index + step) % 4]
                run.sample(
                    step=step, group=str(group), index=index, prompt=f"{step % 3} {group}", response=f"word {index}",
                    reward=reward, advantage=reward, metrics={"score": reward, "large": 2.0**60},
                    tokens=["a", "b", "c"], series={"logprobs": [-0.1, reward, -0.2]},
                )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with opened(folder, folder / "index") as library:
        assert all(run.wait_all(60) for run in library.runs)
        yield served(library)


@pytest.mark.parametrize("run", REWARDS)
def test_every_question_has_an_answer(app: App, run: str) -> None:
    for name in QUESTIONS:
        asked = "&" if name in OF_SPLIT else ASKED.get(name, "")
        if name not in ELSEWHERE:
            reply = get(app, f"/api/runs/{run}/{name}?{'split=train' if asked[:1] == '&' else ''}{asked}")
            assert reply.status == 200, (name, reply.body)


def test_numbers_that_json_lacks_are_sent_by_name(app: App) -> None:
    step = get(app, "/api/runs/mixed/step-values?split=train&step=0&names=reward").json
    assert [one["values"] for one in step["samples"]][:3] == [["NaN"], ["Infinity"], [1.0]]


@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(REWARDS, 2)])
def test_any_two_runs_are_compared(app: App, first: str, second: str) -> None:
    address = f"/api/compare/rewards?split=train&run={first}&run={second}"
    found = get(app, address).json
    assert "missing" in (first, second) or -math.inf < found["low"] <= found["difference"] <= found["high"] < math.inf
    found = get(app, f"{address}&step_min=-1&step_max=-1").json
    assert found["difference"] is None and "none in this window" in found["text"]


def test_the_brief_has_their_means(folder: Path) -> None:
    done = rolloupe("brief", folder / "high", "--index-dir", folder / "index")
    assert "The reward shows no clear change over 12 steps: 1.52e+308 → 1.52e+308" in done.out and not done.err
