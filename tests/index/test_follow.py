"""A run that grows, is rewritten, shrinks or vanishes while it is open."""

import gzip
import os
import shutil
import threading
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from rolloupe import query
from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun, execution, sources
from rolloupe.index.execution import Job, JobReply, perform
from rolloupe.index.segments import parts as grid
from rolloupe.index.segments.kind import BackfillJob
from rolloupe.query import SampleQuery
from tests.index.support import (
    SteppedClock,
    contents,
    eventually,
    lines,
    opened,
    relax_run,
    row,
    row_count,
    settled,
    tails_of,
)


def test_an_appended_line_shows_within_a_second(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        with (train / "1.jsonl").open("ab") as file:
            file.write(lines([row(1, 8)]))
        assert eventually(lambda: row_count(run) == 17) < 10.0
        page = query.samples(run, SampleQuery(splits=("train",), step_min=1, step_max=1))
        assert [item.key.index for item in page.samples] == [str(i) for i in range(9)]


def test_a_new_step_shows_within_a_second(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (train / "7.jsonl").write_bytes(lines([row(7, 0)]))
        assert eventually(lambda: ("train", 7) in library.runs[0].snapshot().steps) < 10.0


def test_a_new_step_does_not_wait_for_the_texts_of_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Job] = []

    def slowly(job: Job, ended: threading.Event) -> JobReply:
        if isinstance(job, BackfillJob):
            time.sleep(0.05)
            jobs.append(job)
        return perform(job, ended)

    monkeypatch.setattr(execution, "perform", slowly)
    monkeypatch.setattr(sources, "BUSY_POLL_S", 0.1)
    train = relax_run(tmp_path / "run", steps=60)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        run.note_question()
        eventually(lambda: len(jobs) > 1)
        (train / "70.jsonl").write_bytes(lines([row(70, 0)]))
        eventually(lambda: ("train", 70) in run.snapshot().steps)
        assert len(jobs) < 50


def test_half_a_line_is_a_problem_until_it_is_whole(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    line = lines([row(0, 8)])
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        with (train / "0.jsonl").open("ab", buffering=0) as file:
            file.write(line[:40])
            eventually(lambda: run.problem_count() == 1)
            assert row_count(run) == 8
            file.write(line[40:])
        eventually(lambda: row_count(run) == 9 and run.problem_count() == 0)


def test_a_file_written_again_is_scanned_again(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        (train / "0.jsonl").write_bytes(lines([row(0, i, reward=5.0) for i in range(20)]))
        eventually(lambda: row_count(run) == 20)
        assert query.steps(run, "train")[0].reward.mean == 5.0


@pytest.mark.parametrize("looks_between", [True, False])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_cut_back_and_written_on_holds_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_between: bool, packed: bool
) -> None:
    """As a resumed trainer, or a writer that takes back half a batch, leaves it: behind what went to disk."""
    monkeypatch.setattr(sources, "QUIET_S", 1e9)
    path = relax_run(tmp_path / "run", steps=1) / "0.jsonl"
    if packed:
        path = path.rename(path.with_suffix(".jsonl.gz"))
        path.write_bytes(gzip.compress(path.read_bytes()))
    pack = gzip.compress if packed else bytes
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run, kept = library.runs[0], 0
        for number in range(8, 12):
            with path.open("ab") as file:
                file.write(pack(lines([row(0, number, reward=5.0)])))
            if number == 9:
                kept = path.stat().st_size
        eventually(partial(has_rows, run, 12))
        with path.open("r+b") as file:
            file.truncate(kept)
            if looks_between:
                eventually(partial(has_rows, run, 10))
            file.seek(0, os.SEEK_END)
            for number in range(10, 16):
                file.write(pack(lines([row(0, number, reward=7.0)])))
        eventually(partial(has_rows, run, 16))
        assert tails_of(run) and not run.problem_count()
        found = query.every(run, SampleQuery(sort="index"))
        assert sorted(item.reward or 0.0 for item in found) == [0.0] * 4 + [1.0] * 4 + [5.0] * 2 + [7.0] * 6


def test_a_shorter_line_in_the_place_of_half_a_line_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "QUIET_S", 1e9)
    path = relax_run(tmp_path / "run", steps=1) / "0.jsonl"
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(lines([row(0, 8, response="x" * 900)])[:800])
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert row_count(run) == 8 and run.problem_count() == 1
        with path.open("r+b") as file:
            file.truncate(whole)
            eventually(lambda: not run.problem_count())
            file.seek(whole)
            file.write(lines([row(0, 8)]))
        eventually(partial(has_rows, run, 9))


def test_when_a_run_changed_is_told_though_the_clocks_of_its_files_are_wrong(tmp_path: Path) -> None:
    year_s, hour_s, now_s = 365 * 86400.0, 3600.0, time.time()
    file = relax_run(tmp_path / "run", steps=1) / "0.jsonl"
    for ahead_s in (year_s, hour_s / 2):
        os.utime(file, (now_s + ahead_s, now_s + ahead_s))
        clock = SteppedClock()
        with settled(tmp_path / "run", tmp_path / "index", clock=clock) as library:
            run = library.runs[0]
            assert (run.sources.changed_s() or 0) < hour_s
            clock.step(hour_s)
            assert hour_s <= (run.sources.changed_s() or 0) < 2 * hour_s  # an hour after it was opened
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        for of_s in (now_s + year_s, now_s + hour_s / 2, now_s - year_s, 0.0, -year_s):
            known = row_count(run)
            with file.open("ab") as written:
                written.write(lines([row(0, known)]))
            os.utime(file, (of_s, of_s))
            eventually(lambda known=known: row_count(run) > known)
            assert (run.sources.changed_s() or 0) < hour_s
    found = sources.Sources(run.info, run.format, clock=clock)
    found.look()
    for of_s in (now_s + year_s, now_s + hour_s / 2, now_s - year_s):
        os.utime(file, (of_s, of_s))
        found.look()
        clock.step(hour_s)
        assert hour_s <= (found.changed_s() or 0) < 2 * hour_s  # an hour after it was seen to change


def test_a_file_that_shrank_loses_its_rows(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (train / "0.jsonl").write_bytes(lines([row(0, 0)]))
        eventually(lambda: row_count(library.runs[0]) == 1)


def test_the_same_length_at_another_time_is_another_content(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    path = train / "0.jsonl"
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        path.write_bytes(path.read_bytes().replace(b'"reward": 1.0', b'"reward": 3.0'))
        eventually(lambda: [p.stats.mean for p in query.series(run, "reward")] == [1.5])


@pytest.mark.parametrize("grows", [False, True])
def test_another_file_of_the_same_ends_is_another_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    """As a script leaves it that gives other rewards: made under another name, put in the place of the first."""
    monkeypatch.setattr(sources, "QUIET_S", 1e9)
    monkeypatch.setattr(grid, "GRID_BYTES", 100_000)
    path = relax_run(tmp_path / "run", steps=0) / "0.jsonl"
    rows = [row(0, i, reward=0.5, response="x" * 2000) for i in range(100)]
    path.write_bytes(lines(rows))
    state = path.stat()
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert [len(run.snapshot().segments), row_count(run)] == [3, 100]
        again = [one | {"reward": 0.9} if 20 <= n < 45 else one for n, one in enumerate(rows)]  # in two parts of three
        (tmp_path / "other").write_bytes(lines(again) + (lines([row(0, 100, reward=0.5)]) if grows else b""))
        if not grows:
            os.utime(tmp_path / "other", ns=(state.st_atime_ns, state.st_mtime_ns))
        os.replace(tmp_path / "other", path)
        eventually(lambda: rewards(run).count(0.9) == 25)
        eventually(partial(has_rows, run, 100 + grows))


def test_a_copy_in_the_place_of_a_file_costs_no_second_scan(tmp_path: Path) -> None:
    """As a folder looks that is mounted again from elsewhere: the number of each file is another."""
    path = relax_run(tmp_path / "run", steps=1) / "0.jsonl"
    with opened(tmp_path / "run", tmp_path / "index"):
        pass
    (written,) = (path for path in (tmp_path / "index").rglob("*.parquet") if path.name.count(".") == 1)
    os.utime(written, (1, 1))
    shutil.copy2(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert row_count(library.runs[0]) == 8
    assert written.stat().st_mtime == 1


def rewards(run: OpenRun) -> list[float | None]:
    """The rewards of all samples, none while files change."""
    try:
        return [item.reward for item in query.every(run, SampleQuery())]
    except SourceChanged:
        return []


def test_a_vanished_file_takes_its_rows_along(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (train / "0.jsonl").unlink()
        eventually(lambda: set(library.runs[0].snapshot().steps) == {("train", 1)})


def has_rows(run: OpenRun, count: int) -> bool:
    return row_count(run) == count


def test_two_viewers_of_one_live_run_agree(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    index = tmp_path / "index"
    with (
        opened(tmp_path / "run", index, follow=True) as one,
        opened(tmp_path / "run", index, follow=True) as other,
    ):
        for number in range(8, 40):
            with (train / "0.jsonl").open("ab", buffering=0) as file:
                line = lines([row(0, number)])
                file.write(line[:25])
                file.write(line[25:])
        for run in (one.runs[0], other.runs[0]):
            eventually(partial(has_rows, run, 40))
            keys = [item.key for item in query.every(run, SampleQuery())]
            assert len(keys) == len(set(keys)) == 40
    with opened(tmp_path / "run", index) as later:
        assert row_count(later.runs[0]) == 40


def test_what_one_viewer_supersedes_another_can_still_read(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    index = tmp_path / "index"
    clock = SteppedClock()
    with (
        opened(tmp_path / "run", index) as still,
        opened(tmp_path / "run", index, follow=True, clock=clock) as following,
    ):
        with (train / "0.jsonl").open("ab") as file:
            file.write(lines([row(0, 8)]))
        run = following.runs[0]
        clock.until(lambda: row_count(run) == 9 and not tails_of(run))
        assert len(list(query.every(still.runs[0], SampleQuery()))) == 8
        assert len(list(query.every(run, SampleQuery()))) == 9


def test_a_segment_that_is_gone_says_ask_again(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        for path in (tmp_path / "index").rglob("*.parquet"):
            path.unlink()
        with pytest.raises(SourceChanged, match="ask again"):
            query.samples(library.runs[0], SampleQuery())
        assert len(list(query.every(library.runs[0], SampleQuery()))) == 8


def test_a_folder_that_is_gone_for_a_moment_costs_no_second_scan(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        before = contents(tmp_path / "index")
        (tmp_path / "run/rollout_result").rename(tmp_path / "away")
        eventually(lambda: row_count(run) == 0)
        for path in (tmp_path / "index").rglob("*[0-9a-f].parquet"):
            os.utime(path, (1, 1))
        (tmp_path / "away").rename(tmp_path / "run/rollout_result")
        eventually(lambda: row_count(run) == 24)
        assert contents(tmp_path / "index") == before
        assert all(path.stat().st_mtime == 1 for path in (tmp_path / "index").rglob("*[0-9a-f].parquet"))


def test_looks_that_take_long_leave_time_to_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=16)
    monkeypatch.setattr(sources, "BUSY_POLL_S", 0.01)
    look, looks_s = sources.Sources.look, []

    def slow(self: sources.Sources) -> sources.Seen:
        began = time.monotonic()
        time.sleep(0.2)  # as with many thousands of files
        seen = look(self)
        looks_s.append(time.monotonic() - began)
        return seen

    monkeypatch.setattr(sources.Sources, "look", slow)
    began = time.monotonic()
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert row_count(library.runs[0]) == 16 * 8
        others_s = time.monotonic() - began - sum(looks_s)
    assert len(looks_s) <= 2 + others_s / (0.2 * sources.POLL_SHARE)


def test_an_old_run_is_polled_seldom_and_is_still_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    os.utime(train / "0.jsonl", (0, 0))
    monkeypatch.setattr(sources, "POLL_S", 1.0)  # few steps to the time at which the run is old
    monkeypatch.setattr(sources, "POLL_SHARE", 0)  # a poll that takes long on a busy machine is another subject
    clock = SteppedClock()
    look, polls_s = sources.Sources.look, []

    def noted(self: sources.Sources) -> sources.Seen:
        polls_s.append(clock.now_s())
        return look(self)

    monkeypatch.setattr(sources.Sources, "look", noted)
    with opened(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        clock.until(lambda: polls_s[-1] - polls_s[0] > sources.WATCHED_S + 3 * sources.OLD_REST_S)
        assert max(late - early for early, late in pairwise(polls_s)) >= sources.OLD_REST_S
        seen = len(polls_s)
        run.note_missing_texts(tmp_path / "none")
        eventually(lambda: len(polls_s) > seen, within_s=10)  # who asks for something does not wait
        (train / "1.jsonl").write_bytes(lines([row(1, 0)]))
        clock.until(lambda: row_count(run) == 9)
        seen = len(polls_s)
        clock.until(lambda: len(polls_s) > seen + 2)
        assert min(late - early for early, late in pairwise(polls_s[seen:])) < 1.5, "a run that grows is polled often"
