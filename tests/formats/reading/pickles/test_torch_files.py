"""`.pt` files: tensors are views of storages that are read on demand, and no archive costs more than its bytes."""

import contextlib
import os
import random
import struct
import time
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from rolloupe.formats.reading import stream
from rolloupe.formats.reading.pickles import torch_files
from rolloupe.formats.reading.pickles.json_values import as_json
from rolloupe.formats.reading.pickles.values import Opaque, Tensor, UnreadablePickle, floats_of
from tests.formats.reading.pickles.support import (
    Call,
    StorageKey,
    archive,
    at,
    dumps,
    longs,
    nothing_runs,
    raised,
    tensor,
)
from tests.thoroughness import amount

KEY = StorageKey("LongStorage", "0", 6)


def array(value: object) -> list[object]:
    assert isinstance(value, Tensor)
    return list(value.array().tolist())


def test_tensors_are_views_of_storages(tmp_path: Path) -> None:
    views = {
        "whole": tensor(KEY, (6,), (1,)),
        "matrix": tensor(KEY, (2, 3), (3, 1)),
        "turned": tensor(KEY, (3, 2), (1, 3)),
        "second row": tensor(KEY, (3,), (1,), 3),
        "every second": tensor(KEY, (3,), (2,)),
        "expanded": tensor(KEY, (2, 2), (0, 1), 4),
        "none": tensor(KEY, (0,), (1,), 6),
        "no rows": tensor(KEY, (0, 3), (3, 1)),
    }
    data = dumps({**views, "one": tensor(KEY, (), (), 2)})
    found = at(archive(tmp_path / "a.pt", data, {"0": longs(*range(6))})).root
    assert {name: array(found[name]) for name in views} == {
        "whole": [0, 1, 2, 3, 4, 5], "matrix": [[0, 1, 2], [3, 4, 5]], "turned": [[0, 3], [1, 4], [2, 5]],
        "second row": [3, 4, 5], "every second": [0, 2, 4], "expanded": [[4, 5], [4, 5]], "none": [], "no rows": [],
    }  # fmt: skip
    assert found["one"].array().item() == 2
    assert floats_of(found["second row"]) is not None and floats_of(found["matrix"]) is None
    assert as_json(found["matrix"]) == [[0, 1, 2], [3, 4, 5]]


def test_bytes_of_the_other_order_are_turned(tmp_path: Path) -> None:
    data = dumps([tensor(KEY, (6,), (1,)), tensor(StorageKey("BFloat16Storage", "1", 2), (2,), (1,))])
    storages = {"0": struct.pack(">6q", *range(6)), "1": struct.pack(">2H", 0x3FC0, 0xBF80)}
    found = at(archive(tmp_path / "a.pt", data, storages, order="big")).root
    assert [array(one) for one in found] == [[0, 1, 2, 3, 4, 5], [1.5, -1.0]]


def test_a_type_that_is_no_name_is_not_guessed(tmp_path: Path) -> None:
    made = Call("torch.serialization._dtype", "uint8")
    storage = StorageKey("UntypedStorage", "0", 256)
    data = dumps(Call("torch._utils._rebuild_tensor_v3", storage, 0, (256,), (1,), False, None, made))
    assert isinstance(at(archive(tmp_path / "a.pt", data, {"0": bytes(range(256))})).root, Opaque)


def test_parameters_and_tensors_with_a_class_are_tensors(tmp_path: Path) -> None:
    inner = tensor(KEY, (6,), (1,))
    wrapped = Call("torch._utils._rebuild_parameter", inner, True, Call("collections.OrderedDict"))
    with_state = Call("torch._utils._rebuild_parameter_with_state", inner, True, {}, {"a": 1})
    found = at(archive(tmp_path / "a.pt", dumps([wrapped, with_state]), {"0": longs(*range(6))})).root
    assert [array(one) for one in found] == [[0, 1, 2, 3, 4, 5]] * 2


ODD = {
    "beyond its storage": tensor(KEY, (7,), (1,)),
    "beyond by its offset": tensor(KEY, (6,), (1,), 1),
    "beyond by its stride": tensor(KEY, (3,), (3,)),
    "a trillion values": tensor(KEY, (2**20, 2**20), (0, 0)),
    "a negative offset": tensor(KEY, (1,), (1,), -1),
    "negative strides": tensor(KEY, (2,), (-1,), 3),
    "a storage that is missing": tensor(StorageKey("LongStorage", "9", 1), (1,), (1,)),
    "a storage of another length": tensor(StorageKey("LongStorage", "0", 7), (1,), (1,)),
    "a storage of no kind": tensor(StorageKey("QInt8Storage", "0", 6), (1,), (1,)),
    "a storage outside of the archive": tensor(StorageKey("LongStorage", "../../etc/passwd", 1), (1,), (1,)),
    "shapes of texts": Call("torch._utils._rebuild_tensor_v2", KEY, 0, ("a",), (1,), False, None),
    "another number of strides": Call("torch._utils._rebuild_tensor_v2", KEY, 0, (1,), (1, 1), False, None),
    "a conjugate": Call("torch._utils._rebuild_tensor_v2", KEY, 0, (1,), (1,), False, None, {"conj": True}),
    "no values in too many dimensions": tensor(KEY, (0, 2**39, 2**39), (1, 1, 1)),
    "sparse": Call("torch._utils._rebuild_sparse_tensor", 1, (tensor(KEY, (1,), (1,)),)),
}


@pytest.mark.parametrize("name", ODD)
def test_a_tensor_that_makes_no_sense_is_shown_and_not_read(tmp_path: Path, name: str) -> None:
    with nothing_runs():
        found = at(archive(tmp_path / "a.pt", dumps({"x": ODD[name]}), {"0": longs(*range(6))})).root["x"]
        if isinstance(found, Tensor):
            assert raised(found.array)
        else:
            assert isinstance(found, Opaque)
        assert as_json(found)


def test_only_the_values_that_are_asked_for_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = StorageKey("LongStorage", "0", 1_000_000)
    path = archive(tmp_path / "a.pt", dumps([tensor(key, (4,), (1,), 500)]), {"0": bytes(8_000_000)})
    read: list[int] = []
    whole = stream.read_fully

    def counted(file: BinaryIO, count: int) -> bytes:
        read.append(count)
        return whole(file, count)

    monkeypatch.setattr(torch_files, "read_fully", counted)
    (found,) = at(path).root
    assert found.array().tolist() == [0] * 4 and sum(read) < 10_000


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.pt", dumps([tensor(KEY, (6,), (1,))]), {"0": longs(*range(6))})
    (found,) = at(path).root
    path.write_bytes(path.read_bytes() + b"x")
    assert "changed" in raised(found.array)
    os.unlink(path)
    assert "could not be read" in raised(found.array)


def test_a_file_is_read_again_when_it_changed_only(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.pt", dumps({"step": 1}), {})
    first = at(path)
    assert at(path) is first
    archive(path, dumps({"step": 22}), {})
    assert at(path).root == {"step": 22}


def test_archives_that_pytorch_never_writes_are_refused(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.pt", b"N" + b"0N" * 10_000_000 + b".", {}, method=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 200_000 and "packed members" in raised(lambda: at(bomb))
    other = tmp_path / "other.pt"
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("a.txt", "hello")
    assert "without data.pkl" in raised(lambda: at(other))
    for data in (b"", b"hello", b"\x80\x04N.", b"PK\x03\x04"):
        other.write_bytes(data)
        assert raised(lambda: at(other))


def test_a_directory_of_very_many_members_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.pt", dumps(1), {str(number): b"" for number in range(300)})
    monkeypatch.setattr(torch_files, "MAX_MEMBERS", 100)
    assert "304 members" in raised(lambda: at(path)) or "303 members" in raised(lambda: at(path))
    monkeypatch.setattr(torch_files, "MAX_DIRECTORY_BYTES", 2**10)
    assert "directory" in raised(lambda: at(path))


def _small(path: Path) -> bytes:
    samples = [{"tokens": tensor(KEY, (6,), (1,)), "prompt": "What?", "reward": 0.5, "ids": [1, 2, 70_000]}]
    return archive(path, dumps({"rollout_id": 3, "samples": samples}), {"0": longs(*range(6))}).read_bytes()


def _touched(path: Path) -> None:
    """Read a file and all that it describes, as far as that goes."""
    with contextlib.suppress(UnreadablePickle):
        as_json(at(path).root, most=10_000)


def test_a_file_cut_off_at_any_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    data = _small(path)
    with nothing_runs():
        for stop in range(0, len(data), amount(5, 1)):
            path.write_bytes(data[:stop])
            assert raised(lambda: at(path))


@pytest.mark.slow
def test_a_campaign_of_damaged_files_runs_nothing_and_ends(tmp_path: Path) -> None:
    path, chosen = tmp_path / "a.pt", random.Random(1)
    data = _small(path)
    with nothing_runs():
        for _ in range(amount(3_000, 30_000)):
            damaged = bytearray(data)
            for _ in range(chosen.randint(1, 5)):
                damaged[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
            path.write_bytes(damaged)
            began_s = time.monotonic()
            _touched(path)
            assert time.monotonic() - began_s < 10


@pytest.mark.slow
def test_a_large_file_opens_without_its_values(tmp_path: Path) -> None:
    path = tmp_path / "large.pt"
    count = 2**26
    keys = [StorageKey("FloatStorage", str(number), count) for number in range(4)]
    archive(path, dumps([tensor(key, (count,), (1,)) for key in keys] + [list(range(2_000_000))]), {})
    with zipfile.ZipFile(path, "a") as file:
        for number in range(4):
            file.writestr(f"archive/data/{number}", bytes(4 * count))
    assert path.stat().st_size > 2**30
    began_s = time.process_time()
    found = at(path).root
    assert time.process_time() - began_s < 2
    assert np.shape(found[4].array()) == (2_000_000,)
    assert "67,108,864 values: not read" in raised(found[0].array)
