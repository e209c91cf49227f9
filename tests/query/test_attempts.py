"""A sample that was recorded more than once: it counts once, and has the same id wherever it shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rolloupe import query
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.search import TextQuery, search
from rolloupe.server.beside import about_reply
from tests.index.support import opened

LAUNCH = """
import os, sys
from rolloupe import Recorder
record = Recorder(sys.argv[1], code=None)
for nth in range(int(sys.argv[3])):
    for group in ("both", sys.argv[2]):
        record.sample(step=1, split=sys.argv[4], group=group, index=0, prompt="2+2?", reward=1,
                      response=f"{sys.argv[2]} {nth}", series={"logprobs": [-1.0, -2.0 - nth]})
record.flush()
os.kill(os.getpid(), 9)
"""


def killed(path: Path, name: str, times: int, ranks: int, split: str = "train") -> None:
    """Record the group `both`, and one that is called as the launch is, so many times; its last rank does."""
    ours = {**os.environ, "RANK": str(ranks - 1), "WORLD_SIZE": str(ranks)}
    words = [str(path), name, str(times), split]
    subprocess.run([sys.executable, "-c", LAUNCH, *words], check=False, timeout=120, env=ours)


@pytest.mark.parametrize("ranks", [1, 2])  # two write files of their own
@pytest.mark.parametrize("times", [1, 2])
def test_a_sample_has_the_same_id_wherever_it_shows(tmp_path: Path, ranks: int, times: int) -> None:
    killed(tmp_path / "run", "first", times, ranks)
    killed(tmp_path / "run", "second", times, 1)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        of_both, of_second = ["train/1/both/0"], ["train/1/second/0"]
        if times == 2:
            of_both, of_second = ["train/1/both/0~3", *of_both], ["train/1/second/0~1", *of_second]
        ids = {*of_both, *of_second}
        keys = [item.key for item in query.every(run, SampleQuery())]
        assert len(keys) == len(ids) and set(map(str, keys)) == ids
        assert query.table(run, SampleQuery())["id"].to_pylist() == list(map(str, keys))
        assert {str(key) for one in query.groups_page(run, SampleQuery()).groups for key in one.members} == ids
        (series,) = query.token_series(run, "train", 1)
        assert {str(token.key) for token in (*series.lowest, *series.highest)} == ids
        hits = [hit for found in search(run, TextQuery(text="second")) for hit in found.hits]
        assert {str(hit.sample.key) for hit in hits} == ids

        older = [f"train/1/both/0~{n + 1}" for n in range(times)]
        texts = {str(key): query.sample(run, key).response_text for key in query.neighbours(run, keys[0])}
        both = {key: f"first {n}" for n, key in enumerate(older)} | {
            key: f"second {n}" for n, key in enumerate(of_both)
        }
        assert texts == both
        assert query.sample(run, SampleKey.parse(f"train/1/first/0~{times}")).response_text == f"first {times - 1}"


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("times", [1, 2])
def test_a_step_that_was_recorded_again_counts_once(tmp_path: Path, ranks: int, times: int) -> None:
    killed(tmp_path / "run", "first", times, ranks, "eval/sums")
    killed(tmp_path / "run", "second", times, 1, "eval/sums")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        current = {"eval/sums/1/both/0", "eval/sums/1/second/0"}
        (split,) = query.splits(run)
        assert (split.samples, split.superseded) == (2 * times, 2 * times)  # a launch's own attempts stand side by side
        assert about_reply(run).superseded == 2 * times
        assert {str(one.key) for one in query.whole(run, "eval/sums", 1)} == current
        ((step,),) = [one.steps for one in query.evals(run)]
        assert (step.problems, step.samples) == (1, 2)
        (found,) = query.recurring(run, query.problem_of(run, SampleKey("eval/sums", 1, "both", "0")))
        assert (found.groups, found.samples, found.reward.count) == (2, 2, 2)
        (problem,) = query.grid(run, "eval/sums").problems
        assert {str(one.key) for one in query.answers(run, "eval/sums", 1, problem.name)} == current
