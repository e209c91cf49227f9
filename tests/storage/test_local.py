"""The door to the files of a run, with links, pipes and folders swapped in behind the name that was checked."""

import os
import time
from pathlib import Path

import pytest

from rolloupe.model import Location
from rolloupe.storage import file_state, folder_entries, is_below, open_file, real_path
from tests.storage.swapping import swapping
from tests.thoroughness import amount, slow_unless


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a file and a folder; beside it, outside, a secret."""
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "a.jsonl").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.jsonl").write_bytes(b"secret")
    return root


def read(path: Path, root: Path) -> bytes:
    with open_file(Location(str(path), str(root))) as file:
        return file.read()


def test_a_file_below_the_root_is_read(root: Path) -> None:
    assert read(root / "folder" / "a.jsonl", root) == b"inside"
    assert file_state(Location(str(root / "folder" / "a.jsonl"), str(root))).st_size == 6


def test_a_file_may_be_its_own_root(root: Path) -> None:
    path = root / "folder" / "a.jsonl"
    assert read(path, path) == b"inside"
    path.rename(root / "moved")
    path.symlink_to(root / "moved")
    with pytest.raises(PermissionError, match="a link out of the root"):
        read(path, path)


def test_links_within_the_root_are_followed(root: Path) -> None:
    (root / "link.jsonl").symlink_to(root / "folder" / "a.jsonl")
    (root / "linked").symlink_to(root / "folder")
    assert read(root / "link.jsonl", root) == read(root / "linked" / "a.jsonl", root) == b"inside"


@pytest.mark.parametrize("name", ["link.jsonl", "linked/a.jsonl"])
def test_links_out_of_the_root_are_not_followed(root: Path, name: str) -> None:
    (root / "link.jsonl").symlink_to(root.parent / "outside" / "a.jsonl")
    (root / "linked").symlink_to(root.parent / "outside")
    with pytest.raises(PermissionError, match=r"outside.*not followed\. Next: --follow-symlinks"):
        read(root / name, root)
    with pytest.raises(PermissionError):
        file_state(Location(str(root / name), str(root)))
    assert read(root / name, Path(os.sep)) == b"secret"


def test_a_folder_beside_the_root_whose_name_begins_alike_is_outside(root: Path) -> None:
    beside = root.with_name("root-b")
    beside.mkdir()
    (beside / "x").write_bytes(b"secret")
    (root / "x").symlink_to(beside / "x")
    with pytest.raises(PermissionError):
        read(root / "x", root)


def test_a_folder_out_of_the_root_is_not_listed(root: Path) -> None:
    (root / "linked").symlink_to(root.parent / "outside")
    with (
        pytest.raises(PermissionError),
        folder_entries(Location(str(root / "linked"), str(root))) as listing,
    ):
        list(listing)
    with folder_entries(Location(str(root / "folder"), str(root))) as listing:
        assert [entry.name for entry in listing] == ["a.jsonl"]


def test_pipes_devices_and_folders_are_no_files(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for path in (root / "pipe", root / "folder", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            read(path, Path(os.sep))
    with pytest.raises(NotADirectoryError), folder_entries(Location(str(root / "pipe"), str(root))):
        pass


def test_a_name_that_says_that_it_is_deleted_is_only_a_name(root: Path) -> None:
    (root / "a (deleted)").write_bytes(b"here")
    assert read(root / "a (deleted)", root) == b"here"


def test_a_path_is_written_as_the_file_system_writes_it(root: Path) -> None:
    (root / "linked").symlink_to(root / "folder")
    assert real_path(str(root / "linked" / ".." / "linked" / "a.jsonl")) == str(root / "folder" / "a.jsonl")
    with pytest.raises(FileNotFoundError):
        real_path(str(root / "nothing"))


def test_what_lies_below_is_told_by_whole_names() -> None:
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")


def test_a_folder_that_was_a_link_only_when_the_file_was_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolloupe.storage.local.DESCRIPTORS", "/nonexistent")
    path = root / "folder" / "a.jsonl"
    assert read(path, root) == b"inside"
    (root / "folder").rename(root / "moved")
    (root / "folder").symlink_to(root.parent / "outside")
    monkeypatch.setattr("os.path.realpath", lambda *_, **__: str(path))  # as it would be before the swap
    with pytest.raises(OSError, match="folder"):
        read(path, root)


@pytest.mark.parametrize(
    ("outside", "descriptors"),
    [
        slow_unless((outside == ".") == (descriptors == "/nonexistent"), outside, descriptors)
        for outside in ("a.jsonl", ".")
        for descriptors in ("/proc/self/fd", "/nonexistent")  # how it is asked where one came, and how it is not
    ],
)
def test_no_swap_in_a_race_leads_out(
    root: Path, outside: str, descriptors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolloupe.storage.local.DESCRIPTORS", descriptors)
    swapped = root / "folder" if outside == "." else root / "folder" / "a.jsonl"
    seen: set[bytes] = set()
    with swapping({swapped: root.parent / "outside" / outside}):
        ends = time.monotonic() + 30
        while not {b"inside", b"PermissionError"} <= seen or time.monotonic() < ends - amount(29.6, 29):
            assert time.monotonic() < ends, seen
            try:
                seen.add(read(root / "folder" / "a.jsonl", root))
            except OSError as error:
                seen.add(type(error).__name__.encode())
    assert {b"inside", b"PermissionError"} <= seen
    assert b"secret" not in seen
