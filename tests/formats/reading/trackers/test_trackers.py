"""The curves that trackers keep, against what the tests' files were made of."""

import csv
import math
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, metric_rows, read_csv, trainer_step_of
from rolloupe.formats.reading.trackers.framed_log import SwanLabLog, WandbLog
from rolloupe.formats.reading.trackers.tensorboard import EventLog, TaggedValue, events, masked_checksum
from rolloupe.protobuf import BadMessage, fields

DATA = Path(__file__).parents[3] / "data/trackers"
NAN = "NaN"


def read_tensorboard(files: Iterable[tuple[str, bytes]]) -> LoggedRun:
    """Return the scalars of a run from its event files, given by name and content."""
    log = EventLog()
    for name, data in files:
        log.take(name, data)
    log.merge()
    return log.run()


def shown(run: LoggedRun, step_name: str = "") -> dict[int | None, dict[str, float | str]]:
    """The values by step, NaN as a text that equals itself."""
    rows = metric_rows(run.rows, step_name)
    return {
        row.step: {name: NAN if math.isnan(value) else round(value, 6) for name, value in row.values.items()}
        for row in rows
    }


def event_files(folder: str) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted((DATA / "tensorboard" / folder).iterdir())]


def test_scalars_of_tensorboard_in_all_its_ways_of_writing_them() -> None:
    assert shown(read_tensorboard(event_files("openrlhf"))) == {
        1: {"train/reward": 0.25, "train/kl": 0.01},
        2: {"train/reward": 0.5, "train/kl": NAN},
        3: {"train/reward": 0.75, "train/kl": 0.03, "eval/acc": 0.5},
    }
    verl = read_tensorboard(event_files("verl/grpo-a"))  # two files
    assert shown(verl)[3] == {"critic/score/mean": 0.75, "actor/pg_loss": -0.03} and not verl.damage
    assert shown(read_tensorboard(event_files("v2_scalars"))) == {
        step: {"reward/mean": 0.25 * step} for step in (1, 2, 3)
    }  # tensors
    texts = [event for _, data in event_files("openrlhf") for event in events(data) if event.texts]
    assert [event.tag for event in texts] == ["train/generated_samples"] * 3
    assert texts[0].texts[0].startswith("Sample:")


def checksum(data: bytes) -> bytes:
    """The masked CRC-32C, bit by bit."""
    found = 2**32 - 1
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ 0x82F63B78 * (found & 1)
    found ^= 2**32 - 1
    return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) % 2**32)


def record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + checksum(length) + event + checksum(event)


def scalar(tag: str, step: int, value: float, time_s: float) -> bytes:
    inner = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(inner)]) + inner
    return record(
        b"\x09" + struct.pack("<d", time_s) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary
    )


def test_a_flipped_bit_leaves_its_record_out_and_one_in_a_length_ends_the_reading() -> None:
    whole = [scalar("r", step, step, step) for step in (1, 2, 3)]
    size = len(whole[0])
    for at in range(size):
        second = bytearray(whole[1])
        second[at] ^= 4
        run = read_tensorboard([("a", whole[0] + bytes(second) + whole[2])])
        if at < 12:
            assert [*shown(run)] == [1] and run.damage == f"a: at byte {size} it is damaged: what follows is not read"
        else:
            assert [*shown(run)] == [1, 3]
            assert run.damage == "a: records left out because their checksums do not fit: 1"


@given(data=st.binary(max_size=300))
def test_a_checksum_is_that_of_one_bit_after_another(data: bytes) -> None:
    assert checksum(b"123456789") == struct.pack("<I", 0xC78AB0E5), "the mask of 0xE3069283, which is known"
    assert struct.pack("<I", masked_checksum(data)) == checksum(data)


def test_after_a_restart_the_value_written_last_wins_whatever_its_file() -> None:
    first = scalar("r", 1, 1, 10) + scalar("r", 2, 2, 20) + scalar("r", 3, 3, 30)
    again = scalar("r", 2, 5, 40)
    for files in ([("a", first), ("b", again)], [("a", again), ("b", first)]):
        assert shown(read_tensorboard(files)) == {1: {"r": 1}, 2: {"r": 5}, 3: {"r": 3}}


def test_a_file_of_events_that_breaks_off_or_is_damaged_keeps_what_came_before() -> None:
    whole = scalar("r", 1, 1, 10) + scalar("r", 2, 2, 20)
    for cut in range(len(whole)):
        run = read_tensorboard([("a", whole[:cut])])
        assert len(run.rows) == (cut >= len(whole) // 2) and not run.damage
    run = read_tensorboard([("a", whole + struct.pack("<QI", 2**60, 0) + bytes(64))])
    assert len(run.rows) == 2 and "a: at byte" in run.damage
    run = read_tensorboard([("a", scalar("r", 1, 1, 10) + record(b"\xff" * 12) + scalar("r", 2, 2, 20)), ("b", whole)])
    assert len(run.rows) == 2 and run.damage
    assert [*events(b"")] == [] == [*events(bytes(11))]
    assert next(events(scalar("r", 1, 0.5, 10))) == TaggedValue("r", 1, 10.0, 0.5)


def test_offline_runs_of_wandb() -> None:
    trl = WandbLog.whole((DATA / "wandb/run-trldemo1.wandb").read_bytes())
    assert (trl.name, trl.config["learning_rate"], trl.config["model"]) == (
        "grpo-trl", 1e-6, {"hidden": 128, "dtype": "bf16"},
    )  # fmt: skip
    assert trainer_step_of(trl.rows) == "train/global_step"
    values = shown(trl, "train/global_step")
    assert [*values] == [1, 2, 3] and values[2]["train/grad_norm"] == NAN
    assert [values[step]["train/reward"] for step in values] == [0.25, 0.5, 0.75]
    assert not any("completions" in name for row in values.values() for name in row)  # a table
    older = WandbLog.whole((DATA / "wandb/run-primedm1.wandb").read_bytes())
    assert trainer_step_of(older.rows) == "step" and shown(older, "step")[2]["reward/mean"] == 0.5
    for name in ("verldemo", "ordemo01"):
        run = WandbLog.whole((DATA / f"wandb/run-{name}.wandb").read_bytes())
        assert run.rows and run.config and not run.damage
        assert not any("generat" in name for row in run.rows for name in row.values)


@pytest.mark.parametrize("name", ["backup.swanlab", "run-0.10.swanlab"])
def test_runs_of_swanlab_of_both_versions(name: str) -> None:
    run = SwanLabLog.whole((DATA / "swanlab" / name).read_bytes())
    assert run.name == "grpo-verl" and not run.damage
    assert shown(run) == {
        1: {"critic/score/mean": 0.25, "actor/pg_loss": -0.01, "actor/grad_norm": 0.5},
        2: {"critic/score/mean": 0.5, "actor/pg_loss": -0.02, "actor/grad_norm": NAN},
        3: {"critic/score/mean": 0.75, "actor/pg_loss": -0.03, "actor/grad_norm": 0.5},
    }
    assert all(row.time_s is not None and 1.7e9 < row.time_s < 1.9e9 for row in run.rows)


def framed(*payloads: bytes) -> bytes:
    """A log with these records, each in pieces that end with their block."""
    log = bytearray(b":SWL\xd6\xe1\x01")
    for payload in payloads:
        kind, rest = 0, payload
        while kind not in (1, 4):
            room = 32768 - len(log) % 32768
            if room < 7:
                log += bytes(room)
                continue
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = (4 if kind else 1) if not rest else (3 if kind else 2)
            log += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
    return bytes(log)


def point(step: int, filler: int = 0) -> bytes:
    text = '{"model_type": "Scalar", "data": {"key": "r", "step": %d, "metric": {"data": %d, "more": "%s"}}}'
    return (text % (step, step, "x" * filler)).encode()


def test_records_over_many_blocks_and_what_a_damaged_block_costs() -> None:
    sizes = [0, 40_000, 32_640, 32_650, 10, 100_000, 5]
    log = framed(*(point(step, size) for step, size in enumerate(sizes)))
    assert [row.step for row in SwanLabLog.whole(log).rows] == [*range(len(sizes))]
    torn = bytearray(log)
    torn[60_000] ^= 1  # within the second record or the third
    damaged = SwanLabLog.whole(bytes(torn))
    kept = [row.step for row in damaged.rows]
    assert damaged.damage == "at byte 40,212 it is damaged, and records after it are missing"
    assert kept[0] == 0 and kept[-3:] == [4, 5, 6] and len(kept) < len(sizes)
    for cut in range(0, len(log), 997):
        unfinished = SwanLabLog.whole(log[: max(8, cut)])
        assert len(unfinished.rows) <= len(sizes) and not unfinished.damage
    odd = framed(b'{"data": {}}', b'{"data": {"key": 1}, "model_type": ["Scalar"]}', b"no object", point(3))
    assert [row.step for row in SwanLabLog.whole(odd).rows] == [3]


def test_other_files_are_refused_and_hostile_ones_end() -> None:
    for read in (WandbLog.whole, SwanLabLog.whole):
        for data in (b"", b":W&B", b"PK\x03\x04" * 100):
            with pytest.raises(ValueError, match="it is not a run"):
                read(data)
    for path in (DATA / "wandb/run-trldemo1.wandb", DATA / "swanlab/run-0.10.swanlab"):
        read = WandbLog.whole if path.suffix == ".wandb" else SwanLabLog.whole
        torn = bytearray(path.read_bytes())
        for at in range(7, len(torn), 211):
            torn[at] ^= 0x55
            read(bytes(torn))
        run = read(bytes(torn))
        assert run.damage.startswith("at byte 7 it is damaged") and run.id == ""
    with pytest.raises(BadMessage):
        [*fields(b"\x08\x01" * 11, 10)]


@pytest.mark.parametrize("limit_chars", [131_072, 64 * 2**20])
def test_odd_rows_of_a_table_cost_no_other_row_and_short_ones_no_time(limit_chars: int) -> None:
    before = csv.field_size_limit(limit_chars)  # whatever another reader of this process allows
    begin = time.process_time()
    names = ",".join(f"c{number}" for number in range(100_000))
    assert len(read_csv(f"step,{names}\n".encode() + b"1,2\n" * 5000).rows) == 5000
    assert time.process_time() - begin < 3  # a cell for each name of each row took a minute
    long = read_csv(
        b"\n\nstep,a,b\n1,2,\n" + b"2,3," + b"x" * 200_000 + b"\n3,4,\n" + b"," * 300_000 + b"\n\0" + b"4,5\n"
    )
    assert shown(long) == {1: {"a": 2}, 3: {"a": 4}, 4: {"a": 5}}
    left_out = "rows left out: 1 (a cell of more than 131,072 characters); rows left out: 1 (more than 200,000 columns)"
    assert long.damage == left_out
    unclosed = read_csv(b'step,a\n1,2\n2,"\n' + b"3,4\n" * 50_000)
    assert [*shown(unclosed)] == [1, 3] and unclosed.damage.startswith("rows left out: 1 (a cell of")
    assert shown(read_csv(b'step,note,a\n1,"two\nlines, ""both""",2\n2,"",3\n')) == {1: {"a": 2}, 2: {"a": 3}}
    assert shown(read_csv("step,a\n1,2\n".encode("utf-16"))) == {1: {"a": 2}}
    csv.field_size_limit(before)
    assert read_csv(b"step a\n1 2\n").damage == "no row holds a metric (commas separate its cells)"
    assert read_csv(b"step,a\n").damage == read_csv(b"").damage == ""
    with pytest.raises(ValueError, match="more than 200,000 columns"):
        read_csv(b"," * 300_000 + b"\n1,2\n")


def test_a_table_that_breaks_off_has_no_half_row_and_says_that_half_a_number_is_uncertain() -> None:
    """As a writer leaves it that was killed, or that writes its buffer wherever that is full."""
    rows = [b"step,lr,loss\n", b"1,1e-05,0.25\n", b"2,1e-05,0.125\n"]
    whole, last = shown(read_csv(b"".join(rows))), b"".join(rows[:2])
    for stop in range(len(rows[2]) + 1):
        run = read_csv(last + rows[2][:stop])
        found = shown(run)
        assert found[1] == whole[1]
        if stop == 0 or stop == len(rows[2]):
            assert run.damage == ""
        elif rows[2][:stop].count(b",") < 2:
            assert 2 not in found and run.damage == "rows left out: 1 (it breaks off)"
        else:
            assert run.damage == "no line end follows its last row, so that the last number may be cut"
            assert found.get(2, {"lr": 1e-05})["lr"] == 1e-05


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("step;val/loss\n1;0.5\n2;-1e-05\n", {1: 0.5, 2: -1e-05}),
        ("step\tval/loss\n1\t0.5\n2\t3\n", {1: 0.5, 2: 3}),
        ("step; val/loss\n1; 0.5\n", {1: 0.5}),
        ("step;val/loss\n1;0,5\n2;1,234\n3;-1,0E-05\n4;nan\n", {1: 0.5, 2: 1.234, 3: -1e-05}),
        ('step;"note, long";val/loss\n1;"a; b, c";0.5\n', {1: 0.5}),
        ("step;note, long;val/loss\n1;a;0.5\n2;b, c;2\n", {1: 0.5, 2: 2}),
        ("step,a;b,val/loss\n1,2,0.5\n", {1: 0.5}),
        ("step,note,val/loss\n1,x;y,0.5\n2,,2\n", {1: 0.5, 2: 2}),
    ],
)
def test_semicolons_and_tabs_separate_the_cells_of_a_table_too(table: str, values: dict[int, float]) -> None:
    run = read_csv(table.encode())
    found = {row.step: row.values["val/loss"] for row in run.rows if "val/loss" in row.values}
    assert {step: value for step, value in found.items() if not math.isnan(value)} == values and run.damage == ""


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("step;loss, train\n1;0,5\n2;0,4\n", "uncertain whether commas or semicolons separate"),
        ("step;loss\n1;0,5\n2;0.25\n", "numbers with commas, such as 0,5, and numbers with points, such as 0.25"),
        ("step;tokens\n1;1,234\n2;1,300\n", "a number such as 1,234 is below or above a thousand"),
        ("step;tokens\n1;1.234,5\n", "what the points and commas in a number such as 1.234,5 mean"),
        ("step\ttokens\n1\t1,234,567\n", "what the points and commas in a number such as 1,234,567 mean"),
    ],
)
def test_a_table_that_can_be_read_in_two_ways_is_not_read(table: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_csv(table.encode())


def test_of_columns_with_one_name_the_last_counts_and_that_is_noted() -> None:
    run = read_csv(b"step,loss,loss\n1,2,3\n")
    assert shown(run) == {1: {"loss": 3}} and run.damage.endswith("only the last is read: loss")


def test_a_trainers_own_step_is_found_only_where_it_is_one() -> None:
    own = [LoggedRow(0, {"a": 1, "train/global_step": 1.0}), LoggedRow(1, {"b": 2}), LoggedRow(2, {})]
    assert trainer_step_of(own) == "train/global_step"
    assert {row.step: row.values for row in metric_rows(own, "train/global_step")} == {1: {"a": 1, "b": 2}}
    assert trainer_step_of([LoggedRow(0, {"global_step": 0.5})]) == ""
    for value in (math.nan, math.inf, 1e300, 2.0**53 + 2):
        assert trainer_step_of([LoggedRow(0, {"global_step": value})]) == ""
    assert trainer_step_of([LoggedRow(n, {"a": 1}) for n in range(3)] + own) == ""
    timed = [LoggedRow(n, {"profiling/generate": 0.5}) for n in range(9)]
    logged = [LoggedRow(2 * n - 1, {"train/loss": n, "train/global_step": n}) for n in (1, 2, 3)]
    assert trainer_step_of(timed + logged) == "train/global_step"
    assert [row.step for row in metric_rows(timed + logged, "train/global_step")] == [1, 2, 3, None] + [None] * 8
    assert trainer_step_of([*logged, *(LoggedRow(n, {"train/loss": n}) for n in range(4))]) == ""
    loose = metric_rows([LoggedRow(None, {"a": 1}, 5.0), LoggedRow(4, {"a": 2})])
    assert [(row.step, row.time_s) for row in loose] == [(4, None), (None, 5.0)]
