"""What PyTorch's own `weights_only` loader reads, the reader of `.pt` files reads too, value by value."""

import collections
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolloupe.formats.reading.pickles.torch_files import torch_file
from rolloupe.formats.reading.pickles.values import Tensor
from rolloupe.model import Location
from tests.frameworks.support import ROOT, needs
from tests.thoroughness import amount

torch = needs("torch")

FILES = sorted((ROOT / "tests/data").glob("**/*.pt"))
WIDENED = (torch.bfloat16,)
"""Types that NumPy lacks: they become float32."""

TYPES = [
    torch.float32, torch.float64, torch.float16, *WIDENED, torch.bool, torch.uint8, torch.int8, torch.int16,
    torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex128,
]  # fmt: skip


def at(path: Path) -> Any:
    return torch_file(Location(str(path), str(path))).root


def check_same(ours: Any, theirs: Any, place: str = "root") -> None:
    """Fail at the first place where two values differ, in kind or in value."""
    if isinstance(theirs, torch.Tensor):
        theirs = theirs.detach()
        assert isinstance(ours, Tensor), place
        expected = (theirs.float() if theirs.dtype in WIDENED else theirs).numpy()
        found = ours.array()
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), place
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc"), place
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), place
        for key, value in theirs.items():
            check_same(ours[key], value, f"{place}.{key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs) and isinstance(ours, tuple) == isinstance(theirs, tuple), place
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            check_same(one, other, f"{place}[{number}]")
    else:
        assert (ours, type(ours)) == (theirs, type(theirs)), place


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT / "tests/data").as_posix())
def test_the_dumps_of_frameworks_are_read_as_pytorch_reads_them(path: Path) -> None:
    check_same(at(path), torch.load(path, weights_only=True))


def check_saved(path: Path, value: Any) -> None:
    torch.save(value, path)
    check_same(at(path), torch.load(path, weights_only=True))


def values_of(kind: Any, shape: tuple[int, ...]) -> Any:
    """Random bits as values of a type: NaN and infinities among them."""
    width = torch.empty(0, dtype=kind).element_size()
    raw = torch.randint(0, 256, (*shape[:-1], shape[-1] * width), dtype=torch.uint8)
    return raw.bool() if kind is torch.bool else raw.view(kind)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_tensors_of_every_type_and_stride_are_equal(tmp_path: Path, kind: Any) -> None:
    whole = values_of(kind, (4, 6, 5))
    views = {
        "whole": whole, "turned": whole.transpose(0, 2), "part": whole[1:3, ::2, 1], "one": whole[2, 3, 4],
        "none": whole[:0], "expanded": whole[0, 0].expand(3, 5), "again": whole[1:], "flat": whole.flatten(),
    }  # fmt: skip
    check_saved(tmp_path / "a.pt", views)


def test_parameters_and_modules_are_equal(tmp_path: Path) -> None:
    state = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).state_dict()
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.randn(3))]).state_dict()
    inner = torch.nn.Parameter(torch.randn(2, 2), requires_grad=False)
    check_saved(tmp_path / "a.pt", {"state": dict(state), "optimizer": optimizer, "one": inner, "size": inner.shape})


scalars = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text() | st.binary()
)
tensors = st.builds(
    lambda kind, shape, seed: (torch.manual_seed(seed), values_of(kind, shape))[1],
    st.sampled_from(TYPES), st.tuples(st.integers(0, 3), st.integers(1, 4)), st.integers(0, 99),
)  # fmt: skip
trees = st.recursive(
    scalars | tensors | st.lists(st.integers(-(2**31), 2**31 - 1), max_size=1200),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4).map(collections.OrderedDict)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=amount(60, 1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=trees, protocol=st.sampled_from([2, 3, 4, 5]))
def test_any_tree_of_data_is_equal(tmp_path: Path, value: Any, protocol: int) -> None:
    file = io.BytesIO()
    torch.save(value, file, pickle_protocol=protocol)
    path = tmp_path / "a.pt"
    path.unlink(missing_ok=True)
    path.write_bytes(file.getvalue())
    try:
        theirs = torch.load(path, weights_only=True)
    except Exception:  # it knows fewer opcodes than Python writes
        theirs = torch.load(path, weights_only=False)
    check_same(at(path), theirs)


@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "float16", "complex64", "U3"])
def test_arrays_of_numpy_are_equal(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.pt"
    whole = np.arange(12).reshape(3, 4).astype(kind)
    torch.save({"a": whole, "t": whole.T, "s": whole[1, 2]}, path)
    ours, theirs = at(path), torch.load(path, weights_only=False)
    for name in "at":
        found = ours[name].array()
        assert found.dtype == theirs[name].dtype and (found == theirs[name]).all()
    assert ours["s"] == theirs["s"].item()
