"""A tokenizer is fetched only where a person asks, and nothing but its data: from a hub on this machine."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rolloupe.errors import UnreadablePath
from rolloupe.tokenizer import load

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "tokenizer.json": b'{"model": {"vocab": {"a": 0}}}', "tokenizer_config.json": b"{}",
    "tokenizer.model": b"never asked for", "modeling_own.py": b"raise SystemExit", "model.safetensors": b"weights",
}  # fmt: skip


class Hub(ThreadingHTTPServer):
    """A hub with one model. `sizes` replaces the sizes that it claims."""

    asked: list[str]
    sizes: dict[str, int]


class Pages(BaseHTTPRequestHandler):
    """What the hub answers."""

    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        self.server.asked.append(f"{self.command} {path}")
        if path == "/api/models/own/tiny":
            sizes = {name: len(data) for name, data in FILES.items()} | self.server.sizes
            listed = [{"rfilename": name, "size": size, "blobId": "0"} for name, size in sizes.items()]
            self._answer(200, json.dumps({"id": "own/tiny", "sha": COMMIT, "siblings": listed}).encode())
        elif path == f"/own/tiny/resolve/{COMMIT}/{name}" and name in FILES:
            self._answer(200, FILES[name])
        else:
            self._answer(404, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        for key, value in {"ETag": f'"{hash(body)}"', "X-Repo-Commit": COMMIT, "Content-Length": len(body)}.items():
            self.send_header(key, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub(("127.0.0.1", 0), Pages)
    server.asked, server.sizes = [], {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def run(hub: Hub, cache: Path, call: str) -> subprocess.CompletedProcess[str]:
    """Call `load` in a process that knows no other hub: the library reads its settings when it is imported."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env |= {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(cache), "NO_PROXY": "127.0.0.1"}
    code = f"from rolloupe.tokenizer import load\none = {call}\nprint(len(one), one.file.path)"
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_only_what_decoding_reads_is_fetched_and_only_once(hub: Hub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, "load('own/tiny', download=True)")
    assert done.stdout.startswith(f"1 {tmp_path}"), done.stderr
    fetched = {line.rpartition("/")[2] for line in hub.asked if line.startswith("GET") and "resolve" in line}
    assert fetched == {"tokenizer.json", "tokenizer_config.json"}
    hub.asked.clear()
    done = run(hub, tmp_path, "load('own/tiny')")
    assert done.stdout.startswith("1 "), done.stderr
    assert hub.asked == []


def test_nothing_is_fetched_that_nobody_asked_for(hub: Hub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, "load('own/tiny')")
    assert "--download-tokenizer" in done.stderr
    assert hub.asked == []


def test_a_file_that_is_too_large_is_not_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.sizes["tokenizer.json"] = 10**12
    done = run(hub, tmp_path, "load('own/tiny', download=True)")
    assert "larger than" in done.stderr
    assert not [line for line in hub.asked if "resolve" in line]


def test_a_model_that_is_not_there_is_named(hub: Hub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, "load('own/other', download=True)")
    assert "UnreadablePath: the tokenizer own/other cannot be fetched" in done.stderr


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UnreadablePath, match=r"pip install 'rolloupe\[hub\]'"):
        load("own/tiny", download=True)
