"""Packs answer as their segments do, whatever happens to them."""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rolloupe import query
from rolloupe.errors import SourceChanged
from rolloupe.index import LITTLE_WORK, IndexWork, Library, OpenRun, compaction
from rolloupe.index.backfill import Backfill
from rolloupe.index.catalog import SUPERSEDED_S
from rolloupe.index.execution import ProcessExecutor
from rolloupe.index.segments import pack as pack_module
from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.pack import members_of, path_of, read_plan, write
from rolloupe.index.segments.segment import PACK, discard
from rolloupe.index.snapshot import Pack, age_of
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from tests.forks import program
from tests.index.support import SteppedClock, contents, eventually, lines, opened, relax_run, row, settled
from tests.thoroughness import amount, slow_unless


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are enough for a pack."""
    monkeypatch.setattr(compaction, "SIZES", (8, 4))
    monkeypatch.setattr(compaction, "PLAN_S", 0.0)
    monkeypatch.setattr(compaction, "YOUNG_S", 0.1)
    monkeypatch.setattr(pack_module, "WORTH", 2)


def files(index_dir: Path) -> list[Path]:
    """The packs there are."""
    return sorted(index_dir.rglob(f"*{PACK}"))


def used(run: OpenRun) -> list[Pack]:
    """The packs that are good."""
    found = {segment.pack for segment in run.catalog.segments() if segment.pack is not None}
    return sorted((pack for pack in found if pack.is_good), key=lambda pack: pack.path)


def mixed_run(folder: Path) -> Path:
    """Steps whose samples differ in metrics and tags; some have several files, one an evaluation, two share keys."""
    train = relax_run(folder, steps=10)
    for step in range(10, 20):
        more: list[dict[str, Any]] = [{"kl": 0.1 * step}, {"Kl": step, "entropy": -1.5}, {}]
        odd = [float("nan"), None, float("inf"), -0.0]
        rows = [
            row(step, i % 5, reward={"score": odd[i % 4], "acc": i / 3, "bench": f"toy {i}"} if step % 2 else i / 7,
                uid=f"{step}-{i}", **more[step % 3])
            for i in range(8)
        ]  # fmt: skip
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    evals = folder / "rollout_result" / "eval"
    evals.mkdir()
    for step in range(0, 20, 3):
        (evals / f"{step}.jsonl").write_bytes(lines([row(step, i, dataset=n) for i in range(2) for n in "ab"]))
    return folder


QUERIES = [
    SampleQuery(),
    SampleQuery(descending=True),
    SampleQuery(sort="reward", limit=40, offset=7),
    SampleQuery(sort="reward", descending=True),
    SampleQuery(sort="reward.acc"),
    SampleQuery(sort="bench", descending=True),
    SampleQuery(splits=("train",), sort="status"),
    SampleQuery(splits=("eval/a",), sort="response_tokens"),
    SampleQuery(where=(Condition("kl", ">", 1.2),)),
    SampleQuery(where=(Condition("bench", "=", "toy 3"), Condition("reward", "<", 5)), sort="reward"),
    *(SampleQuery(splits=("train",), step_min=n, step_max=n + 9, sort="reward", limit=30) for n in range(0, 12, 2)),
    *(SampleQuery(splits=("train",), step_min=n, step_max=n) for n in (0, 7, 13)),
]


def answers(run: OpenRun) -> list[str]:
    """What is answered of everything, to the last bit."""
    found = []
    for number, asked in enumerate(amount([*QUERIES[2:9:3], QUERIES[12]], QUERIES)):
        page = query.samples(run, asked)
        found.append(repr((page.total, page.offset, page.samples, page.stamp)))
        if number % amount(3, 1) == 0:  # whole tables take longest
            found.append(repr(query.table(run, asked).to_pylist()))
        around = [query.samples(run, asked, around=item.key).offset for item in page.samples[:1]]
        found.append(repr((around, [query.neighbours(run, item.key) for item in page.samples[:1]])))
    found.append(repr([str(item.key) for item in query.every(run, SampleQuery(sort="reward"))]))
    found.append(repr((query.splits(run), query.series(run, "reward"), query.groups(run, "train", 13))))
    return found


def test_packs_answer_as_their_segments_do(tmp_path: Path) -> None:
    """Of whichever pieces are asked for, the rows come and no others."""
    mixed_run(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        rows_come_of_any_pieces(run)
        assert len(used(run)) == len(files(tmp_path / "index")) >= 3
        ways = read_plan(run.snapshot().holding())
        assert len(ways.whole) == len(used(run)) and not ways.partly
        assert read_plan(run.snapshot().holding(["train"], 3, 9)).partly
        with_packs = answers(run)
        for pack in used(run):
            pack.is_good = False
        assert not read_plan(run.snapshot().holding()).whole
        assert with_packs == answers(run)


def rows_come_of_any_pieces(run: OpenRun) -> None:
    rng, pieces = random.Random(0), run.snapshot().holding()
    sql = "SELECT source, byte_start, reward, split, step, status, uid FROM rows ORDER BY ALL"
    for _ in range(amount(8, 40)):
        asked = rng.sample(pieces, rng.randrange(1, len(pieces) + 1))
        alone = [piece._replace(pack=None) for piece in asked]
        one, other = (database.ask(run, Question(some, sql)) for some in (asked, alone))
        assert repr(one) == repr(other)


def test_packs_that_share_segments_give_no_row_twice(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=16)
    rng = random.Random(0)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        members = sorted(run.catalog.segments(), key=age_of)[4:12]
        path = path_of(run.catalog.folder, members)
        assert write(path, members_of(members), is_derived=False)
        run.catalog.pack(members, Pack(path, len(members)))
        pieces = run.snapshot().holding()
        assert len(read_plan(pieces).partly) == 2
        for _ in range(amount(10, 20)):
            asked = rng.sample(pieces, rng.randrange(1, len(pieces) + 1))
            sql = "SELECT count(*), count(DISTINCT (source, byte_start)) FROM rows"
            assert database.ask(run, Question(asked, sql)) == [(8 * len(asked), 8 * len(asked))]


def test_packs_that_vanish_while_questions_are_asked_cost_no_answer(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=12)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run, gone = library.runs[0], 0
        expected = query.samples(run, SampleQuery(sort="reward")).samples
        stop = threading.Event()

        def remove() -> None:
            nonlocal gone
            while not stop.wait(0.02):
                for path in files(tmp_path / "index"):
                    path.unlink(missing_ok=True)
                    gone += 1

        thread = threading.Thread(target=remove)
        thread.start()
        try:
            for number in range(200):
                assert query.samples(run, SampleQuery(sort="reward")).samples == expected
                if number >= amount(20, 60) and gone > 2:
                    break
        finally:
            stop.set()
            thread.join()
        assert gone > 2


KILLED = """
import os, signal, sys
from pathlib import Path
from rolloupe.index import Library
from rolloupe.index import compaction
compaction.SIZES = (8, 4)
replace = Path.replace
def half(written, target):
    if ".pack." in target.name:
        written.write_bytes(written.read_bytes()[:500])
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(written, target)
Path.replace = half
Library([sys.argv[1]], index_dir=sys.argv[2]).runs[0].wait_all()
"""


def test_a_viewer_that_is_killed_while_it_packs_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=12)
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    for _ in range(2):
        process = program(KILLED, str(tmp_path / "run"), str(tmp_path / "index"))
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert files(tmp_path / "index") == [] and len(list((tmp_path / "index").rglob("packs/.*.tmp"))) == 2
    with settled(tmp_path / "run", tmp_path / "index") as library:
        assert len(used(library.runs[0])) == 2
    assert contents(tmp_path / "index") == contents(tmp_path / "whole")


def test_the_next_viewer_uses_the_packs_that_are_there_from_the_first_question_on(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=12)
    with settled(tmp_path / "run", tmp_path / "index"):
        before = contents(tmp_path / "index")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert [pack.members for pack in used(library.runs[0])] in ([8, 4], [4, 8])
        assert isinstance(library.executor, ProcessExecutor) and not library.executor.pids()
    assert contents(tmp_path / "index") == before


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def noise(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def torn(path: Path) -> None:
    """Rows lost, the end whole."""
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + os.urandom(len(whole) // 2) + whole[4 + len(whole) // 2 :])


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("harm", "follow"),
    [
        slow_unless(follow == (number % 2 == 0), harm, follow)
        for number, harm in enumerate((Path.unlink, cut, empty, noise, torn, folder))
        for follow in (False, True)
    ],
)
def test_a_pack_that_is_harmed_costs_no_answer(tmp_path: Path, harm: Callable[[Path], None], follow: bool) -> None:
    relax_run(tmp_path / "run", steps=12)
    with settled(tmp_path / "run", tmp_path / "index", follow=follow) as library:
        run = library.runs[0]
        expected = list(query.every(run, SampleQuery(sort="reward")))
        version = run.version
        for path in files(tmp_path / "index"):
            harm(path)
        assert query.samples(run, SampleQuery(sort="reward")).samples == expected
        assert run.version == version and not run.problems()
        if follow and harm is not folder:
            eventually(lambda: len(used(run)) == 2, within_s=20)
            assert query.samples(run, SampleQuery(sort="reward")).samples == expected


def test_a_pack_that_was_harmed_unseen_costs_no_answer_and_is_made_again(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=12)
    with settled(tmp_path / "run", tmp_path / "index"):
        before = contents(tmp_path / "index")
    for path in files(tmp_path / "index"):
        cut(path)
    for _ in range(2):  # whoever asks finds it, whoever comes next mends it
        with settled(tmp_path / "run", tmp_path / "index") as library:
            assert len(query.samples(library.runs[0], SampleQuery(sort="reward")).samples) == 96
    assert contents(tmp_path / "index") == before


def test_a_segment_that_is_gone_is_made_again_with_a_pack_beside_it(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=14)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        for segment in run.catalog.segments():
            segment.path.unlink()

        def listed() -> int:
            try:
                return len(query.samples(run, SampleQuery(sort="reward")).samples)
            except SourceChanged:
                return -1

        eventually(lambda: listed() == 112, within_s=20)


def test_a_file_written_again_in_place_is_never_answered_from_a_pack_of_what_it_was(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        old, size = files(tmp_path / "index"), (train / "3.jsonl").stat().st_size
        assert len(old) == 1
        (train / "3.jsonl").write_bytes(lines([row(3, i, reward=float(5 + i % 2)) for i in range(8)]))
        assert (train / "3.jsonl").stat().st_size == size
        best = SampleQuery(sort="reward", descending=True, limit=5)
        seen = []

        def is_new() -> bool:
            seen.append([(item.key.step, item.reward) for item in query.samples(run, best).samples])
            return seen[-1][0][1] == 6.0

        eventually(is_new, within_s=10)
        eventually(lambda: len(used(run)) == 1 and used(run)[0].path not in old, within_s=20)
        assert is_new()
        assert all(page[0][1] in (1.0, 6.0) for page in seen)


def test_a_member_that_changes_leaves_the_others_of_its_pack_in_use(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        segment = run.catalog.segments()[2]
        run.catalog.add(segment.meta)
        ways = read_plan(run.snapshot().holding())
        assert (len(ways.alone), len(ways.partly), len(ways.names)) == (1, 1, 7)
        assert query.samples(run, SampleQuery(sort="reward")).total == 64
        assert len({item.key for item in query.every(run, SampleQuery(sort="reward"))}) == 64


def test_a_run_that_grows_has_its_newest_packed_anew_alone(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=20)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        before = files(tmp_path / "index")
        assert len(before) == 3
        for step in range(20, 24):
            (train / f"{step}.jsonl").write_bytes(lines([row(step, i) for i in range(8)]))
        eventually(lambda: {pack.members for pack in used(run)} == {8} and len(used(run)) == 3, within_s=20)
        assert len(set(before) & {pack.path for pack in used(run)}) == 2
        assert len({item.key for item in query.every(run, SampleQuery(sort="reward"))}) == 192


def test_packing_changes_no_version(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        before, snapshot = run.version, run.snapshot()
        members = run.catalog.segments()
        run.catalog.pack(members, Pack(path_of(run.catalog.folder, members), len(members)))
        assert run.version == before == run.snapshot().version
        assert run.snapshot().steps == snapshot.steps


@pytest.mark.slow
def test_two_viewers_at_once_make_the_same_packs_in_other_processes(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=30)
    with settled(tmp_path / "run", tmp_path / "whole"):
        expected = contents(tmp_path / "whole")
    with (
        Library([tmp_path / "run"], index_dir=tmp_path / "index", work=IndexWork(own_work=LITTLE_WORK)) as first,
        Library([tmp_path / "run"], index_dir=tmp_path / "index", work=IndexWork(own_work=LITTLE_WORK)) as second,
    ):
        for library in (first, second):
            assert library.runs[0].wait_all(60) and len(used(library.runs[0])) == 4
    assert contents(tmp_path / "index") == expected


def test_what_another_viewer_derives_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=8)
    write_texts, viewers = Backfill.write, []

    def write_late(self: Backfill, *arguments: Any) -> None:
        viewers.append(self)
        if len(viewers) == 1:
            settled(tmp_path / "run", tmp_path / "index").close()
        write_texts(self, *arguments)

    monkeypatch.setattr(Backfill, "write", write_late)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        assert len(viewers) == 6  # each writes texts, then tokens, then features
        assert all(segment.derived is not None for segment in library.runs[0].catalog.segments())
        assert [pack.derived is not None for pack in used(library.runs[0])] == [True]


def test_what_is_left_behind_goes_after_a_while(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index"):
        (own,) = files(tmp_path / "index")
    names = [f".{own.name}.1-2.tmp", f"superseded{PACK}", "stray"]
    for name in names:
        (own.parent / name).write_bytes(b"x")
    with settled(tmp_path / "run", tmp_path / "index"):
        assert all((own.parent / name).exists() for name in names)
    old = time.time() - SUPERSEDED_S - 5
    for path in own.parent.iterdir():
        os.utime(path, (old, old))
    with settled(tmp_path / "run", tmp_path / "index"):
        assert [path for path in own.parent.iterdir() if DERIVED.ending not in path.name] == [own]


def test_where_room_is_short_no_packs_are_written_and_nothing_is_told_again_and_again(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=8)
    clock = SteppedClock()
    with settled(tmp_path / "run", tmp_path / "index", budget_bytes=0, follow=True, clock=clock) as library:
        told: list[str] = []
        library.subscribe(lambda kind, _: told.append(kind))
        assert query.samples(library.runs[0], SampleQuery(sort="reward")).total == 64
        clock.pass_by(5.0)
        assert told == [] and library.runs[0].progress().phase == "ready"
    assert files(tmp_path / "index") == []


def test_packs_of_runs_that_are_not_open_go_before_what_is_open_lacks_room(tmp_path: Path) -> None:
    relax_run(tmp_path / "old", steps=8)
    relax_run(tmp_path / "new", steps=1)
    with settled(tmp_path / "old", tmp_path / "index"):
        assert len(files(tmp_path / "index")) == 1
    with settled(tmp_path / "new", tmp_path / "index", budget_bytes=1):
        assert files(tmp_path / "index") == []


def test_a_disk_that_is_full_costs_a_pack_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    (tmp_path / "index").mkdir()
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run_folder = library.runs[0].catalog.folder
    for path in files(tmp_path / "index"):
        path.unlink()
    shutil.rmtree(run_folder / "packs")
    (run_folder / "packs").write_text("a file where the folder should be")
    with settled(tmp_path / "run", tmp_path / "index") as library:
        assert query.samples(library.runs[0], SampleQuery(sort="reward")).total == 64
        assert not library.runs[0].problems()


def test_segments_with_hundreds_of_differing_metrics_are_not_packed_together(tmp_path: Path) -> None:
    train = tmp_path / "run/rollout_result/train"
    train.mkdir(parents=True)
    for step in range(8):
        wide = {f"metric {step} {n}": n for n in range(100)}
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i, **wide) for i in range(4)]))
    for step in range(8, 16):
        same = {f"metric {n}": n for n in range(100)}
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i, **same) for i in range(4)]))
    with settled(tmp_path / "run", tmp_path / "index") as library:
        (pack,) = used(library.runs[0])
        assert pack.members == 8 and len(pq.read_schema(pack.path).names) < 140
        assert len(query.samples(library.runs[0], SampleQuery(sort="reward")).samples) == 64


@pytest.mark.parametrize(("rows", "packed"), [(8, 8), (4, 4), (1, 0), (20, 0)])
def test_segments_of_which_many_would_not_fit_are_packed_in_smaller_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, packed: int
) -> None:
    for name, value in (("SIZES", (32, 16)), ("FEW", (8, 4)), ("MAX_ROWS", 64)):
        monkeypatch.setattr(compaction, name, value)
    relax_run(tmp_path / "run", steps=8 if rows > 4 else 7, samples=rows)
    with opened(tmp_path / "run", tmp_path / "index", budget_bytes=0) as library:
        plan = list(compaction.plan(library.runs[0].catalog.segments()))
    assert [len(members) for members in plan] == [packed] * bool(packed)


def test_large_segments_are_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL_ROWS", 7)
    relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index"):
        assert files(tmp_path / "index") == []


def test_a_segment_that_is_no_longer_what_it_was_is_not_packed(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=8)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        members = library.runs[0].catalog.segments()
        place = path_of(library.runs[0].catalog.folder, members)
    (train / "3.jsonl").write_bytes(lines([row(3, i, reward=float(5 + i % 2)) for i in range(8)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        again = path_of(library.runs[0].catalog.folder, library.runs[0].catalog.segments())
    discard(next(one.path for one in members if one.meta.source.endswith("3.jsonl")))
    with pytest.raises(FileNotFoundError):
        write(place, members_of(members), is_derived=False)
    assert again != place and sorted(path.name for path in files(tmp_path / "index"))


@pytest.mark.slow
def test_what_has_just_changed_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "YOUNG_S", 600.0)
    train = relax_run(tmp_path / "run", steps=8)
    clock = SteppedClock()
    with settled(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        for step in range(8, 12):
            (train / f"{step}.jsonl").write_bytes(lines([row(step, i) for i in range(8)]))
        clock.until(lambda: query.samples(run, SampleQuery(sort="reward")).total == 96)
        clock.pass_by(10.0)
        assert [pack.members for pack in used(run)] == [8]


def test_packing_gives_way(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=30)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        for path in files(tmp_path / "index"):
            path.unlink()
        idle = compaction.Packs(run.catalog, library.executor, library.budget)
        idle.take_up({})
        assert len(idle.pending()) == 4
        idle.write(lambda: False)
        assert files(tmp_path / "index") == []
        asked: list[None] = []
        idle.write(lambda: len(asked) < 2 and not asked.append(None))
        assert len(files(tmp_path / "index")) <= 2
        idle.write(lambda: True)
        assert len(files(tmp_path / "index")) == 4 and idle.pending() == []
