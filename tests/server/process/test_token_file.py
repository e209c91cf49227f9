"""The token's file: its owner's alone, kept over restarts."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolloupe.server.process import token_file
from rolloupe.server.process.token_file import secrets_of


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_kept_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    first = secrets_of(folder)
    assert len(first.token) >= 40
    assert len(first.cookie_key) == 32
    assert secrets_of(folder) == first
    assert mode(folder / token_file.NAME) == 0o600
    assert mode(folder) == 0o700
    assert [path.name for path in folder.iterdir()] == [token_file.NAME]


def test_private_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        secrets_of(tmp_path / "state")
    finally:
        os.umask(before)
    assert mode(tmp_path / "state" / token_file.NAME) == 0o600


def test_rotating_draws_both_anew(tmp_path: Path) -> None:
    first = secrets_of(tmp_path)
    second = secrets_of(tmp_path, rotate=True)
    assert first.token != second.token
    assert first.cookie_key != second.cookie_key
    assert secrets_of(tmp_path) == second
    assert mode(tmp_path / token_file.NAME) == 0o600


@pytest.mark.parametrize("open_mode", [0o644, 0o640, 0o660, 0o602])
def test_what_others_could_read_or_write_is_not_believed(tmp_path: Path, open_mode: int) -> None:
    first = secrets_of(tmp_path)
    (tmp_path / token_file.NAME).chmod(open_mode)
    second = secrets_of(tmp_path)
    assert second.token != first.token
    assert mode(tmp_path / token_file.NAME) == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    first = secrets_of(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / token_file.NAME).symlink_to(tmp_path / "a" / token_file.NAME)
    second = secrets_of(tmp_path / "b")
    assert second.token != first.token
    assert not (tmp_path / "b" / token_file.NAME).is_symlink()
    assert secrets_of(tmp_path / "a") == first


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"token": 1}', b'{"token": "x"}'])
def test_a_torn_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / token_file.NAME
    place.write_bytes(content)
    place.chmod(0o600)
    assert secrets_of(tmp_path) == secrets_of(tmp_path)


def test_of_servers_that_start_at_once_all_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: secrets_of(tmp_path / "state"), range(16)))
    assert len({one.token for one in drawn}) == 1


def test_without_a_place_it_lives_as_long_as_the_server(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert secrets_of(tmp_path / "file" / "state").token


def test_the_place_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert token_file.default_folder() == tmp_path / "rolloupe"
