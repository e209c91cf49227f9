"""Samples that share an id: each counts, in all that is asked, but for what an older launch recorded."""

import signal
from pathlib import Path

import pytest

import rolloupe
from rolloupe import query
from rolloupe.export.convert import convert
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.search import TextQuery
from rolloupe.questions import AnswerQuery, GridQuery
from rolloupe.server.routes.runs import about_reply
from tests.forks import program
from tests.index.support import lines, opened, row
from tests.query.search.support import search
from tests.query.tokens.series_of_step import series_of_step
from tests.thoroughness import slow_unless

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
    words = [str(path), name, str(times), split]
    launch = program(LAUNCH, *words, RANK=str(ranks - 1), WORLD_SIZE=str(ranks))
    assert launch.communicate(120) == (b"", b"") and launch.returncode == -signal.SIGKILL


KILLED = [slow_unless(ranks == times, ranks, times) for ranks in (1, 2) for times in (1, 2)]
"""How many ranks, of which two write files of their own, and how many samples of each before the end."""


@pytest.mark.parametrize(("ranks", "times"), KILLED)
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
        (series,) = series_of_step(run, "train", 1)
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


@pytest.mark.parametrize(("ranks", "times"), KILLED)
def test_a_step_that_was_recorded_again_counts_once_and_attempts_of_its_launch_count_each(
    tmp_path: Path, ranks: int, times: int
) -> None:
    killed(tmp_path / "run", "first", times, ranks, "eval/sums")
    killed(tmp_path / "run", "second", times, 1, "eval/sums")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        current = {"eval/sums/1/both/0", "eval/sums/1/second/0"}
        current |= {"eval/sums/1/both/0~3", "eval/sums/1/second/0~1"} if times == 2 else set()
        (split,) = query.splits(run)
        assert (split.samples, split.superseded) == (2 * times, 2 * times)
        assert about_reply(run).superseded == 2 * times
        assert {str(one.key) for one in query.whole(run, "eval/sums", 1)} == current
        ((step,),) = [one.steps for one in query.evals(run)]
        assert (step.prompts, step.samples) == (1, 2 * times)
        (found,) = query.recurring(run, query.prompt_hash_of(run, SampleKey("eval/sums", 1, "both", "0")))
        assert (found.groups, found.samples, found.reward.count) == (2, 2 * times, 2 * times)
        (prompt,) = query.grid(run, GridQuery(split="eval/sums")).prompts
        asked = AnswerQuery(split="eval/sums", step=1, prompt=prompt.name)
        assert {one.id for one in query.answers(run, asked).answers} == current


def test_an_index_that_a_file_repeats_counts_in_everything_that_is_asked(tmp_path: Path) -> None:
    """Three rows of one `sample_index`: means, groups, lists, texts, search and files are of all of them."""
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rows = [row(0, i, reward=0.0, response="once") for i in range(3)]
    rows += [row(0, 0, reward=float(n), response=f"again {n}") for n in (1, 2)]
    (train / "0.jsonl").write_bytes(lines(rows))
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as run:
        (step,) = run.steps()
        assert (step.samples, step.reward.count, step.reward.mean) == (5, 5, 0.6)
        assert [split.samples for split in run.splits()] == [5]
        assert sum(group.samples for group in run.groups(0)) == 5
        ids = [str(item.key) for item in run.samples()]
        assert len(ids) == len(set(ids)) == 5
        whole = list(run.whole(0))
        assert [str(one.key) for one in whole] == ids
        assert sorted(one.response_text for one in whole) == ["again 1", "again 2", "once", "once", "once"]
        assert [one.response_text for one in whole] == [run.sample(one).response_text for one in ids]
        assert sum(one.row.reward or 0.0 for one in whole) / len(whole) == step.reward.mean
        again = [hit.sample.key for hit in run.search("again")]
        assert {run.sample(key).response_text for key in again} == {"again 1", "again 2"}
        assert run.samples().arrow()["id"].to_pylist() == ids
        done = convert(run[0], tmp_path / "other", "relax")
        assert (done.samples, done.written) == (5, 5)
        assert "earlier attempts at a sample" not in done.left
    with rolloupe.open(tmp_path / "other", index_dir=tmp_path / "index") as copy:
        assert [one.response_text for one in copy.whole(0)] == [one.response_text for one in whole]
