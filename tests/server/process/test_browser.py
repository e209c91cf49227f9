"""A browser is opened only where somebody can see it, and never with the lasting token."""

import socket
import sys
import threading
import webbrowser
from pathlib import Path

import pytest

from rolloupe.server.process import serve
from rolloupe.server.settings import RunPaths, ViewerOptions

NAMES = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


def opened(monkeypatch: pytest.MonkeyPatch, address: str = "http://x/") -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    serve.open_page(address)
    for thread in threading.enumerate():
        if thread.name == "browser":
            thread.join()
    return found


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_with_a_display_it_opens(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, ":0")
    assert opened(monkeypatch) == ["http://x/"]


@pytest.mark.parametrize("present", [[], ["SSH_CONNECTION", "DISPLAY"], ["SSH_TTY", "WAYLAND_DISPLAY"]])
def test_without_one_or_over_ssh_it_does_not(monkeypatch: pytest.MonkeyPatch, present: list[str]) -> None:
    for name in present:
        monkeypatch.setenv(name, "1")
    assert opened(monkeypatch) == []


def test_a_browser_that_cannot_start_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> bool:
        raise webbrowser.Error("none")

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", broken)
    serve.open_page("http://x/")
    for thread in threading.enumerate():
        if thread.name == "browser":
            thread.join()


def test_it_gets_the_token_that_is_good_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rolloupe.server.process import serve as module

    given: list[str] = []
    monkeypatch.setattr(module, "open_page", given.append)
    monkeypatch.setattr(module, "run", lambda *_, **__: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(module, "listening", lambda *_: listener)
        module.serve(RunPaths((str(tmp_path),)), ViewerOptions(token="lasting-token"))
    assert len(given) == 1
    assert "#token=" in given[0]
    assert "lasting-token" not in given[0]
