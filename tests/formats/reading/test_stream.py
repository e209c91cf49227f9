"""Compressed files give what the plain ones give, whatever their members and frames; damage costs what it must."""

import gzip
import io
import json
import os
import random
import re
import resource
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, discover
from rolloupe.formats.reading import codecs as decoding
from rolloupe.formats.reading import line_reader
from rolloupe.formats.reading import stream as compressed
from rolloupe.formats.reading.files import alone, files, plain_name, stem
from rolloupe.model import Locator, Problem, RunInfo, RunPart, SampleRow, Scanned, Source
from tests.formats.support import files_of, items, load, only_run, samples

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).parents[2] / "data"
ENDINGS = (".gz", ".zst")
KEYS = ["prompt", "response", "reward", "step", "logprobs"]
by_ending = pytest.mark.parametrize("ending", ENDINGS)


def pack(data: bytes, ending: str) -> bytes:
    """One member or frame, with a checksum."""
    if ending == ".gz":
        return gzip.compress(data, 6, mtime=0)
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


def seekable(pieces: list[bytes], lie: int = 0) -> bytes:
    """Frames with a seek table behind them, as prime-rl seals its chunks; `lie` is added to the lengths it tells."""
    frames = [pack(piece, ".zst") for piece in pieces]
    entries = [struct.pack("<II", len(f), len(p) + lie) for f, p in zip(frames, pieces, strict=True)]
    footer = struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    table = b"".join(entries) + footer
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def put(path: Path, data: bytes | bytearray) -> None:
    """Write a file of which nothing is known: two writes within one tick of the clock cannot be told apart."""
    path.write_bytes(data)
    compressed.opened_files.clear()


def row(index: int, size: int = 40, seed: int = 0) -> dict[str, Any]:
    text = random.Random(index * 7919 + seed).randbytes(size // 2).hex()
    return {"rollout_id": 0, "sample_index": index, "prompt": f"p{index // 4}", "response": text, "reward": index % 2}


def content(count: int, size: int = 40) -> bytes:
    return b"".join(json.dumps(row(i, size)).encode() + b"\n" for i in range(count))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(p, len(data)) for p in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def without_places(found: list[Scanned]) -> str:
    """Items as text, but for where in the compressed file damage was noticed: zstd sees it sooner or later."""
    return re.sub(r"at byte \d+", "", repr(found))


def source_of(path: Path, format: str = "relax") -> tuple[RunInfo, Source]:
    run = RunInfo(name="r", root=str(path), format=format, reason="", parts=(RunPart(str(path)),))
    (source,) = by_name(format).sources(run)
    return run, source


def scan(path: Path, start: int = 0, stop: int = 2**62, format: str = "relax") -> list[Scanned]:
    run, source = source_of(path, format)
    return list(by_name(format).scan(run, source, start, stop))


def split(found: list[Scanned]) -> tuple[list[SampleRow], list[Problem]]:
    return [i for i in found if isinstance(i, SampleRow)], [i for i in found if isinstance(i, Problem)]


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks, chunks and points so small that a few kilobytes meet every edge."""
    small = {
        compressed: {"BLOCK_BYTES": 512, "CACHED_BLOCKS": 4, "STATE_SPACING": 700, "START_SPACING": 300,
                     "KEPT_STATES": 6, "KEPT_STARTS": 9, "FREE_BYTES": 30_000},
        decoding: {"CHUNK_BYTES": 64, "PIECE_BYTES": 128},
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for module, names in small.items():
            for name, value in names.items():
                patch.setattr(module, name, value)
        compressed.opened_files.clear()
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.mark.parametrize(
    ("name", "many", "ending"),
    [
        *(("relax", many, ending) for many in (False, True) for ending in ENDINGS),
        ("rl_logging_board/gen_train_toy", True, ".zst"), ("verl_math", True, ".gz"),
    ],
)  # fmt: skip
def test_every_format_gives_the_same_from_compressed_files(
    name: str, many: bool, ending: str, demo_runs: Path, tmp_path: Path
) -> None:
    origin = demo_runs / "other_formats" / name
    plain = only_run(origin)
    for file in origin.rglob("*.jsonl"):
        data = file.read_bytes()
        place = tmp_path / name / file.relative_to(origin)
        place.parent.mkdir(parents=True, exist_ok=True)
        pieces = cut(data, [100, 5000, 5001, 70_000]) if many else [data]
        place.with_name(place.name + ending).write_bytes(b"".join(pack(piece, ending) for piece in pieces))
    run = only_run(tmp_path / name)
    assert (run.format, run.name) == (plain.format, plain.name)
    assert repr(items(run)) == repr(items(plain)).replace(".jsonl'", f".jsonl{ending}'")
    here, there = samples(plain), samples(run)
    assert [repr(sample).replace(ending + "'", "'") for sample in there] == [repr(sample) for sample in here]
    reader = by_name(run.format)
    for one, other in zip(reader.sources(plain), reader.sources(run), strict=True):
        assert (one.step, one.split, one.name + ending) == (other.step, other.split, other.name)
    for a, b in list(zip(here, there, strict=True))[::7]:
        source = next(s for s in reader.sources(plain) if s.name == a.locator.source)
        packed = next(s for s in reader.sources(run) if s.name == b.locator.source)
        assert reader.raw(packed, b.locator) == reader.raw(source, a.locator)


@by_ending
def test_what_lies_beside_samples_may_be_compressed_too(ending: str, demo_runs: Path, tmp_path: Path) -> None:
    """Metrics, configuration, checkpoints, differences of code and reports."""
    for source in (DATA / "tinker/flat_run", DATA / "telescope/run_default", demo_runs / "tiny_grpo"):
        place = tmp_path / source.name
        shutil.copytree(source, place)
        for path in place.rglob("*"):
            if path.suffix in (".json", ".jsonl", ".diff", ".html") and path.name != "rolloupe.json":
                path.with_name(path.name + ending).write_bytes(pack(path.read_bytes(), ending))
                path.unlink()
        plain, packed = only_run(source), only_run(place)
        reader = by_name(plain.format)
        assert packed.format == plain.format
        for ask in (reader.metrics, reader.config, reader.checkpoints, reader.code_diff):
            assert repr(ask(packed)) == repr(ask(plain))
        assert {file.what for file in reader.files(packed)} == {file.what for file in reader.files(plain)}
        assert reader.logtrees(packed) == reader.logtrees(plain)
        for split, step in reader.logtrees(plain):
            assert repr(reader.logtree(packed, split, step)) == repr(reader.logtree(plain, split, step))
        if plain.format == "tinker":  # turns come of reports
            assert [sample.turns for sample in samples(packed)] == [sample.turns for sample in samples(plain)]


@by_ending
@given(data=st.data())
@small_blocks()
def test_any_split_into_members_or_frames_gives_the_same(ending: str, folder: Path, data: st.DataObject) -> None:
    whole = data.draw(files_of(KEYS)) * data.draw(st.integers(1, 12))
    pieces = cut(whole, data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    table = ending == ".zst" and data.draw(st.booleans())
    plain, packed = folder / "5.jsonl", folder / f"6.jsonl{ending}"
    plain.write_bytes(whole)
    put(packed, seekable(pieces) if table else b"".join(pack(piece, ending) for piece in pieces))
    expected = scan(plain, format="generic")
    same = repr(expected).replace("5.jsonl", f"6.jsonl{ending}").replace("'5:", "'6:")
    assert repr(scan(packed, format="generic")).replace("step=6", "step=5") == same.replace("step=6", "step=5")
    cuts = data.draw(st.sets(st.integers(1, len(whole) + 2), max_size=4))
    edges = [0, *sorted(cuts), len(whole) + 3]
    spans = list(pairwise(edges))
    found = {span: scan(packed, *span, "generic") for span in data.draw(st.permutations(spans))}
    parts = [item for span in spans for item in found[span]]
    assert repr(parts).replace("step=6", "step=5") == same.replace("step=6", "step=5")


@by_ending
@given(data=st.data())
@small_blocks()
def test_the_stream_can_be_read_in_any_order(ending: str, folder: Path, data: st.DataObject) -> None:
    whole = random.Random(data.draw(st.integers(0, 99))).randbytes(data.draw(st.integers(0, 3000))).hex().encode()
    pieces = cut(whole, data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    path = folder / f"7.jsonl{ending}"
    put(path, b"".join(pack(piece, ending) for piece in pieces))
    with compressed.open_binary(alone(path), 16) as file:
        for start in data.draw(st.lists(st.integers(0, len(whole) + 5), max_size=12)):
            length = data.draw(st.integers(0, 1500))
            file.seek(start)
            assert file.read(length) == whole[start : start + length]
    for stop in data.draw(st.lists(st.integers(0, len(whole) + 999), max_size=3)):
        reached, of_file = compressed.extent(alone(path), stop)
        assert reached == min(stop, len(whole))
        assert of_file <= path.stat().st_size


@by_ending
@given(data=st.data())
@small_blocks()
def test_a_file_cut_anywhere_keeps_its_whole_lines(ending: str, folder: Path, data: st.DataObject) -> None:
    whole = content(data.draw(st.integers(0, 30)))
    packed = b"".join(
        pack(piece, ending) for piece in cut(whole, data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    )
    path = folder / f"8.jsonl{ending}"
    put(path, bytes(packed))
    expected = split(scan(path))[0]
    put(path, packed[: data.draw(st.integers(0, len(packed)))])
    rows, problems = split(scan(path))
    assert rows == expected[: len(rows)]
    assert len(problems) <= 1
    for problem in problems:
        assert problem.transient
        assert re.search("cut off, or still being written, at byte|the last line has no end yet", problem.reason)


@pytest.mark.parametrize("kind", [*ENDINGS, "table"])
@given(data=st.data())
@small_blocks()
def test_bytes_changed_anywhere_never_end_in_an_error(kind: str, folder: Path, data: st.DataObject) -> None:
    pieces = cut(content(40), [900, 1800])
    ending = ".zst" if kind == "table" else kind
    packed = bytearray(seekable(pieces) if kind == "table" else b"".join(pack(piece, kind) for piece in pieces))
    place = data.draw(st.integers(0, len(packed) - 1))
    noise = data.draw(st.binary(min_size=1, max_size=30))
    packed[place : place + len(noise)] = noise
    path = folder / f"9.jsonl{ending}"
    spans = [(start, start + 700) for start in range(0, 11_900, 700)] + [(11_900, 2**62)]
    put(path, bytes(packed))
    found = {span: scan(path, *span) for span in data.draw(st.permutations(spans))}
    parts = [item for span in spans for item in found[span]]
    for again in (False, True):
        if again:  # nothing is known of a file that is written anew
            put(path, bytes(packed))
        assert without_places(scan(path)) == without_places(parts)
    run, source = source_of(path)
    for one in split(parts)[0]:
        assert load(by_name("relax"), run, source, one).row == one


@given(data=st.data())
@small_blocks()
def test_behind_damage_a_seek_table_lets_reading_go_on(folder: Path, data: st.DataObject) -> None:
    whole = content(60)
    pieces = cut(whole, list(accumulate(data.draw(st.lists(st.integers(300, 1500), min_size=1, max_size=4)))))
    hit = data.draw(st.integers(0, len(pieces) - 2))
    frames = [pack(piece, ".zst") for piece in pieces]
    packed = bytearray(seekable(pieces))
    at = sum(map(len, frames[:hit]))
    packed[at : at + 4] = b"\0\xff\xff\0"
    path = folder / "11.jsonl.zst"
    put(path, bytes(packed))
    rows, problems = split(scan(path))
    start = sum(map(len, pieces[:hit]))
    plain = folder / "11.jsonl"
    plain.write_bytes(whole)
    expected = [r for r in split(scan(plain))[0] if r.start + r.length < start]
    assert rows[: len(expected)] == expected
    assert [p.start for p in problems] == [start]
    assert rows[-1].index == "59"
    assert set(map(repr, rows)) <= set(map(repr, split(scan(plain))[0]))


@by_ending
def test_damage_in_the_middle_is_one_problem_behind_the_good_lines(tmp_path: Path, ending: str) -> None:
    pieces = cut(content(300, 2000), [100_000, 200_000])
    frames = [pack(piece, ending) for piece in pieces]
    damaged = bytearray(frames[1])
    damaged[:4] = b"\0\xff\xff\0"
    path = tmp_path / f"0.jsonl{ending}"
    path.write_bytes(frames[0] + bytes(damaged) + frames[2])
    rows, problems = split(scan(path))
    assert len(rows) == pieces[0].count(b"\n")
    (problem,) = problems
    assert problem.source == f"0.jsonl{ending}"
    (place,) = re.findall(r"at byte (\d+) of the compressed file", problem.reason)
    assert len(frames[0]) <= int(place) <= len(frames[0]) + 4
    assert problem.start == pieces[0].rindex(b"\n") + 1
    assert problem.stop == len(pieces[0])


def test_what_was_decoded_before_an_error_in_the_same_call_is_kept(tmp_path: Path) -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    good = content(50)
    head = squeezed.compress(good) + squeezed.flush(zlib.Z_SYNC_FLUSH)
    path = tmp_path / "0.jsonl.gz"
    path.write_bytes(head + b"\x07" * 50)
    rows, problems = split(scan(path))
    assert (len(rows), len(problems)) == (50, 1)
    assert problems[0].start == problems[0].stop == len(good)


def test_a_wrong_checksum_is_said(tmp_path: Path) -> None:
    for ending, at in ((".gz", -8), (".zst", -4)):
        packed = bytearray(pack(content(9), ending))
        packed[at] ^= 1
        path = tmp_path / f"1.jsonl{ending}"
        path.write_bytes(packed)
        rows, problems = split(scan(path))
        assert (len(rows), len(problems)) == (9, 1)
        assert "check" in problems[0].reason


@by_ending
def test_empty_files_and_what_holds_nothing(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"0.jsonl{ending}"
    path.write_bytes(b"")
    assert scan(path) == []
    assert compressed.extent(alone(path), 100) == (0, 0)
    path.write_bytes(pack(b"", ending) * 3)
    assert scan(path) == []
    assert "empty so far" in discover([path]).notes[0].reason


def test_padding_behind_a_member_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl.gz"
    path.write_bytes(pack(content(3), ".gz") + b"\0" * 700 + pack(content(2), ".gz") + b"\0" * 9)
    assert len(split(scan(path))[0]) == 5
    assert split(scan(path))[1] == []
    path.write_bytes(pack(content(3), ".gz") + b"trailing garbage")
    rows, problems = split(scan(path))
    assert (len(rows), len(problems)) == (3, 1)


@by_ending
def test_what_is_not_compressed_at_all_is_said(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"0.jsonl{ending}"
    path.write_bytes(b'{"plain": "text"}\n' * 9)
    (problem,) = scan(path)
    assert isinstance(problem, Problem)
    assert re.search("at byte [0-3] of the compressed file", problem.reason)
    assert "of the compressed file" in discover([path]).notes[0].reason
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0a1b\nsize 12345\n")
    (problem,) = scan(path)
    assert isinstance(problem, Problem)
    assert "not downloaded" in problem.reason


@by_ending
def test_a_bomb_takes_little_memory_and_ends(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "FREE_BYTES", 100 * 2**20)
    monkeypatch.setattr(decoding, "MAX_RATIO", 20)
    path = tmp_path / f"0.jsonl{ending}"
    frame = pack(bytes(2**20) * 20, ending)
    path.write_bytes(pack(content(5), ending) + frame * 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows, problems = split(scan(path))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (len(rows), len(problems)) == (5, 1)
    assert "expands more than 20-fold" in problems[0].reason
    assert grown < 150 * 1024
    start = len(content(5))
    assert scan(path, start + 16, start + 2**24) == []


def test_a_window_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl.zst"
    path.write_bytes(bytes.fromhex("28b52ffd00b8") + b"\x01\x00\x00" * 3)
    (problem,) = scan(path)
    assert isinstance(problem, Problem)
    assert "damaged" in problem.reason


@by_ending
@small_blocks()
def test_a_file_that_grows_is_read_on(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"0.jsonl{ending}"
    pieces = [content(9), content(4)[:70], content(4)[70:], content(11)]
    whole = b""
    for piece in pieces:
        with path.open("ab") as file:
            file.write(pack(piece, ending))
        whole += piece
        plain = tmp_path / "0.jsonl"
        plain.write_bytes(whole)
        assert repr(split(scan(path))[0]) == repr(split(scan(plain))[0])


@by_ending
@given(data=st.data())
@small_blocks()
def test_one_member_that_grows_byte_by_byte_is_read_on(ending: str, folder: Path, data: st.DataObject) -> None:
    whole = content(30)
    packed = pack(whole, ending)
    path = folder / f"10.jsonl{ending}"
    path.unlink(missing_ok=True)
    path.touch()
    for part in cut(packed, data.draw(st.lists(st.integers(0, len(packed)), max_size=6))):
        with path.open("ab") as file:
            file.write(part)
        with compressed.open_binary(alone(path)) as stream:
            stream.seek(data.draw(st.integers(0, len(whole))))
            at = stream.tell()
            found = stream.read()
            assert found == whole[at : at + len(found)]
    with compressed.open_binary(alone(path)) as stream:
        assert stream.read() == whole


@by_ending
def test_a_file_written_again_in_place_is_read_anew(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"0.jsonl{ending}"
    for count, size in ((4, 40), (60, 900), (3, 40)):
        path.write_bytes(pack(content(count, size), ending))
        os.utime(path, ns=(count, count))
        assert len(split(scan(path))[0]) == count


@small_blocks()
def test_a_seek_table_that_lies_costs_no_more_than_its_file(tmp_path: Path) -> None:
    pieces = cut(content(60), [700, 1500, 2200, 3000])
    path = tmp_path / "0.jsonl.zst"
    for lie in (1, -1, 500, 2**31):
        path.write_bytes(seekable(pieces, lie))
        for start in (3000, 0, 1200):
            scan(path, start)
    path.write_bytes(seekable(pieces)[:-9] + struct.pack("<IBI", 2**32 - 1, 0, 0x8F92EAB1))
    assert compressed.known_length(alone(path)) is None
    assert len(split(scan(path))[0]) == 60


def test_the_length_is_known_from_a_seek_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl.zst"
    path.write_bytes(seekable(cut(content(60), [700, 1500])))
    assert compressed.known_length(alone(path)) == len(content(60))
    path.write_bytes(pack(content(60), ".zst"))
    assert compressed.known_length(alone(path)) is None


def test_one_sample_of_a_seekable_file_costs_one_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = content(4000, 4000)
    path = tmp_path / "0.jsonl.zst"
    path.write_bytes(seekable(cut(data, list(range(0, len(data), 4 * 2**20)))))
    last = data.rindex(b"\n", 0, -1) + 1
    pulled: list[int] = []
    pull = decoding.Decoder.pull

    def counted(self: decoding.Decoder, file: io.BufferedReader) -> bytes:
        piece = pull(self, file)
        pulled.append(len(piece))
        return piece

    monkeypatch.setattr(decoding.Decoder, "pull", counted)
    _, source = source_of(path)
    locator = Locator(source=source.name, start=last, length=len(data) - last - 1)
    assert by_name("relax").raw(source, locator) == data[last:-1]
    assert sum(pulled) <= 5 * 2**20


@small_blocks()
def test_states_of_a_huge_member_stay_few(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl.gz"
    data = content(900)
    path.write_bytes(pack(data, ".gz"))
    with compressed.open_binary(alone(path)) as file:
        assert file.read() == data
        assert isinstance(file.raw, compressed.DecodedFile)
        assert 3 <= len(file.raw.contents.points) <= 6


@by_ending
def test_a_locator_that_no_longer_fits_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"0.jsonl{ending}"
    path.write_bytes(pack(content(9), ending))
    run, source = source_of(path)
    last = split(scan(path))[0][-1]
    for data in (b"", pack(content(3), ending), pack(content(9), ending)[:-60], b"x" * 999):
        path.write_bytes(data)
        with pytest.raises(SourceChanged, match="no longer holds"):
            load(by_name("relax"), run, source, last)


def test_a_line_that_is_too_long_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 2000)
    monkeypatch.setattr(line_reader, "BLOCK_BYTES", 64)
    path = tmp_path / "0.jsonl.gz"
    path.write_bytes(pack(content(2) + b"x" * 9000 + b"\n" + content(3), ".gz"))
    rows, problems = split(scan(path))
    assert (len(rows), len(problems)) == (5, 1)
    assert "longer than" in problems[0].reason


@by_ending
def test_a_file_that_is_being_sealed_shows_once(tmp_path: Path, ending: str) -> None:
    plain, packed = tmp_path / "0.jsonl", tmp_path / f"0.jsonl{ending}"
    plain.write_bytes(content(5))
    (tmp_path / f"0.jsonl{ending}.tmp").write_bytes(b"half")
    run = only_run(tmp_path)
    ids = [sample.key for sample in samples(run)]
    packed.write_bytes(pack(content(5), ending))
    assert [s.name for s in by_name(run.format).sources(run)] == ["0.jsonl"]
    plain.unlink()
    assert [s.name for s in by_name(run.format).sources(run)] == [f"0.jsonl{ending}"]
    assert [sample.key for sample in samples(run)] == ids


def test_names_lose_the_ending_of_compression() -> None:
    assert [plain_name(n) for n in ("a.jsonl.gz", "a.ndjson.zst", "a.jsonl", "a.gz")] == [
        "a.jsonl", "a.ndjson", "a.jsonl", "a",
    ]  # fmt: skip
    assert stem("rank_0.jsonl.zst") == "rank_0"


def test_of_two_compressed_copies_one_is_listed(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "a.jsonl.zst", "b.ndjson.gz", "c.txt.gz", "d.jsonl.gz.tmp"):
        (tmp_path / name).touch()
    assert [entry.name for entry in files(str(tmp_path), str(tmp_path))] == ["a.jsonl.zst", "b.ndjson.gz"]


@by_ending
def test_a_sealed_relax_folder_is_recognised_in_the_order_of_its_steps(tmp_path: Path, ending: str) -> None:
    train = tmp_path / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in (0, 2, 10):
        (train / f"{step}.jsonl{ending}").write_bytes(pack(content(2), ending))
    run = only_run(tmp_path)
    assert run.format == "relax"
    assert [source.step for source in by_name("relax").sources(run)] == [0, 2, 10]


@pytest.mark.parametrize(
    ("name", "says"),
    [("a.gz", "archives or compressed"), ("a.tar.gz", "archives"), ("a.json.zst", "documents"), ("a.pt.gz", "PyTorch")],
)
def test_other_compressed_files_are_named_with_what_they_are(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert says in discover([tmp_path / name]).notes[0].reason


@by_ending
@pytest.mark.parametrize("place", ["prime_rl/exports/v6_pr3189", "prime_rl/traces/run_wordle", "tinker/sync_run"])
def test_runs_of_other_frameworks_may_be_compressed(place: str, ending: str, tmp_path: Path) -> None:
    original = Path(__file__).parents[2] / "data" / place
    for file in original.rglob("*"):
        target = tmp_path / original.name / file.relative_to(original)
        if file.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        is_lines = file.name.endswith(".jsonl") and not file.name.endswith((".index.jsonl", "checkpoints.jsonl"))
        data = file.read_bytes()
        if is_lines and data and file.name != "metrics.jsonl":
            target.with_name(target.name + ending).write_bytes(pack(data, ending))
        else:
            target.write_bytes(data)
    plain, packed = only_run(original), only_run(tmp_path / original.name)
    assert plain.format == packed.format
    here, there = samples(plain), samples(packed)
    assert len(here) > 2
    assert [(s.row.reward, s.row.step, len(s.turns), len(s.series)) for s in here] == [
        (s.row.reward, s.row.step, len(s.turns), len(s.series)) for s in there
    ]
