"""Files that grow: only what is new is read, and a file that is another one is read again."""

import json
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Self

import pytest

from rolloupe.formats.curve_files import file_named, read_curves
from rolloupe.formats.reading.trackers import curves, framed_log
from rolloupe.formats.reading.trackers.curves import JsonLines, LoggedRun, LogReader
from rolloupe.formats.reading.trackers.framed_log import MAGIC, FramedLog, SwanLabLog, WandbLog
from rolloupe.formats.reading.trackers.tensorboard import EventLog
from rolloupe.model import Location
from rolloupe.storage import open_file
from tests.formats.reading.trackers.test_trackers import DATA, framed, point, read_tensorboard, scalar, shown

READ_BYTES: list[int] = []


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the bytes that are read of growing files, in blocks so small that records lie across them."""

    def opened(location: Location, buffering: int = -1) -> object:
        file = open_file(location, buffering=buffering)
        read = file.read

        class Counted:
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def read(self, size: int) -> bytes:
                data = read(size)
                READ_BYTES.append(len(data))
                return data

            fileno, seek = file.fileno, file.seek

        return Counted()

    monkeypatch.setattr(curves, "open_file", opened)
    monkeypatch.setattr(curves, "BLOCK_BYTES", 50)
    READ_BYTES.clear()


def read_bytes() -> int:
    found = sum(READ_BYTES)
    READ_BYTES.clear()
    return found


def places(*paths: Path) -> tuple[Location, ...]:
    return tuple(Location(str(path), str(path.parent)) for path in paths)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_event_files_are_read_on_and_half_a_record_waits(tmp_path: Path) -> None:
    path, other = tmp_path / "events.out.tfevents.1", tmp_path / "events.out.tfevents.2"
    path.write_bytes(b"".join(scalar("r", step, step, step) for step in range(100)))
    reader = LogReader(EventLog)
    (run,) = reader.read(places(path))
    assert len(run.rows) == 100 and read_bytes() == path.stat().st_size
    late = scalar("r", 100, 0.5, 100) + scalar("k", 3, 7, 101)
    append(path, late[:-5])
    (grown,) = reader.read(places(path))
    assert shown(grown)[100] == {"r": 0.5} and shown(grown)[3] == {"r": 3}
    append(path, late[-5:])
    assert shown(reader.read(places(path))[0])[3] == {"r": 3, "k": 7} and read_bytes() < 3 * len(late) + 128
    assert shown(run)[3] == {"r": 3}  # who was given it may still be reading
    other.write_bytes(scalar("r", 3, 8, 200) + scalar("r", 4, 9, 2))  # of step 4 an older value than that there is
    read_bytes()
    (both,) = reader.read(places(path, other))
    assert shown(both)[3] == {"r": 8, "k": 7} and shown(both)[4] == {"r": 4}
    files = [(one.name, one.read_bytes()) for one in (path, other)]
    assert shown(both) == shown(read_tensorboard(files))
    assert read_bytes() > path.stat().st_size  # everything, as only all values tell
    assert shown(reader.read(places(other))[0]) == {3: {"r": 8}, 4: {"r": 9}}  # a file went


@pytest.mark.parametrize("how", ["shrank", "replaced", "rewritten"])
def test_another_file_in_its_place_is_read_from_its_beginning(tmp_path: Path, how: str) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(scalar("r", 1, 1, 1) + scalar("r", 2, 2, 2))
    reader = LogReader(EventLog)
    reader.read(places(path))
    data = scalar("r", 1, 5, 9) * (1 if how == "shrank" else 3)
    if how == "replaced":
        (tmp_path / "new").write_bytes(path.read_bytes() + data)
        os.replace(tmp_path / "new", path)
    else:
        path.write_bytes(data)
    wanted = {1: {"r": 5}, 2: {"r": 2}} if how == "replaced" else {1: {"r": 5}}
    assert shown(reader.read(places(path))[0]) == wanted


def test_damage_stays_where_it_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(scalar("r", 1, 1, 1))
    reader = LogReader(EventLog)
    reader.read(places(path))
    begin = path.stat().st_size
    append(path, b"\xff" * 300)
    for _ in range(2):
        (run,) = reader.read(places(path))
        assert run.damage == f"{path.name}: at byte {begin} it is damaged: what follows is not read"
        assert len(run.rows) == 1
        append(path, scalar("r", 2, 2, 2))


def test_lines_are_read_on_and_half_a_line_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [json.dumps({"step": step, "loss": step / 2}) + "\n" for step in range(200)]
    path.write_text("".join(rows[:198]) + rows[198][:9])
    reader = LogReader(JsonLines)

    def read() -> LoggedRun:
        (run,) = reader.read(places(path))
        return run

    assert [row.step for row in read().rows] == [*range(198)]
    read_bytes()
    append(path, rows[198][9:-1].encode())  # an object, though its line has no end
    assert [row.step for row in read().rows] == [*range(199)]
    append(path, ("\n" + rows[199] + "[" * 5000).encode())
    assert [row.step for row in read().rows] == [*range(200)] and read_bytes() < 5000 + 500
    assert read().damage == "", "a line that has no end may yet become an object"
    append(path, b"\n\n[]\n" + b'{"step": 200, "huge": ' + b"9" * 5000 + b"}\n")
    assert read().rows[-1].values == {"huge": float("inf")}
    assert read().damage == "lines left out because they are not JSON objects: 2"
    monkeypatch.setattr(curves, "MAX_ROWS", 203)
    append(path, b"{}\n" * 9)
    assert read().damage == "only its first 203 lines are read"
    path.write_text(rows[7])
    assert [row.step for row in read().rows] == [7] and read().damage == ""
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="a link out of the root"):
        reader.read(places(path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        reader.read(places(path))


@pytest.mark.parametrize("block", [50, 1000, 2**20])
@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ("wandb/run-primedm1.wandb", WandbLog),
        ("swanlab/backup.swanlab", SwanLabLog),
        ("swanlab/run-0.10.swanlab", SwanLabLog),
    ],
)
def test_logs_of_clients_are_read_on_and_half_a_record_waits(
    log: str, kind: type[FramedLog], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "BLOCK_BYTES", block)
    whole = (DATA / log).read_bytes()
    read = kind.whole
    expected = read(whole)
    path = tmp_path / "log"
    reader = LogReader(kind)
    seen = [0]
    for stop in (3, 7, 100, len(whole) // 2, len(whole) // 2 + 1, len(whole) - 1, len(whole)):
        append(path, whole[path.stat().st_size if path.exists() else 0 : stop])
        (run,) = reader.read(places(path))
        assert repr(run) == repr(read(whole[:stop])) if stop >= 7 else not run.rows
        seen.append(sum(len(row.values) for row in run.rows))
    assert repr(run) == repr(expected) and seen == sorted(seen) and seen[3] < seen[-1]
    read_bytes()
    assert repr(reader.read(places(path))[0]) == repr(expected) and read_bytes() <= curves.LAST_BYTES
    path.write_bytes(whole[:7] + bytes(100))
    assert reader.read(places(path))[0].rows == []
    path.write_bytes(b"no log of it at all")
    for _ in range(2):
        with pytest.raises(ValueError, match=f"not a run of {kind.tracker}"):
            reader.read(places(path))


def test_a_log_of_swanlab_takes_memory_for_its_curves_alone(tmp_path: Path) -> None:
    records = [b'{"model_type": "Log", "data": "%s"}' % (b"x" * 30_000) for _ in range(1000)]
    (tmp_path / "backup.swanlab").write_bytes(framed(*records, point(3)))
    tracemalloc.start()
    (run,) = read_curves(file_named(str(tmp_path / "backup.swanlab")))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row.step for row in run.rows] == [3] and most < 2**20


def test_a_damaged_block_of_wandb_costs_what_is_in_it_and_is_named_once(tmp_path: Path) -> None:
    data = bytearray(MAGIC)
    for number in range(3 * framed_log.BLOCK_BYTES // 1000):
        record = b"\x12\x00" + b"\x7a\x80\x07" + bytes([number % 256]) * 896  # an empty history, and another field
        room = framed_log.BLOCK_BYTES - len(data) % framed_log.BLOCK_BYTES
        if room < framed_log.HEADER.size + len(record):
            data += bytes(room)
        data += framed_log.HEADER.pack(zlib.crc32(b"\x01" + record), len(record), framed_log.FULL) + record
    data[9000] ^= 1
    path = tmp_path / "run-a.wandb"
    path.write_bytes(data[:20_000])
    reader = LogReader(WandbLog)
    reader.read(places(path))
    for stop in (40_000, len(data)):
        append(path, bytes(data[path.stat().st_size : stop]))
        (run,) = reader.read(places(path))
        assert run == WandbLog.whole(bytes(data[:stop])) and run.damage.startswith("at byte 8,") and run.rows
    assert len(run.rows) > 60


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.csv", "trainer_state.json"])
def test_the_end_of_a_file_that_is_too_long_is_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"step": step, "loss": step + 0.25} for step in range(50)]
    text = {
        "metrics.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "metrics.csv": "step,loss\n" + "".join(f"{row['step']},{row['loss']}\n" for row in rows),
        "trainer_state.json": json.dumps({"log_history": rows}),
    }[name]
    (tmp_path / name).write_text(text)
    file = file_named(str(tmp_path / name))
    assert (len(read_curves(file)[0].rows), read_curves(file)[0].damage) == (50, "")
    monkeypatch.setattr(curves, "MAX_BYTES", len(text) - 3)
    if name == "trainer_state.json":
        with pytest.raises(ValueError, match=r"it has more than [\d,]+ bytes"):
            read_curves(file)
        return
    (run,) = read_curves(file)
    assert run.damage == f"only the first {len(text) - 3:,} bytes of a file are read"
    assert [row.values["loss"] for row in run.rows] == [row["loss"] for row in rows[:49]]
