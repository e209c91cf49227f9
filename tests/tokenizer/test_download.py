"""A tokenizer is fetched only where a person asks, and nothing but its data: from a hub on this machine."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rolloupe.errors import UnreadablePath
from rolloupe.tokenizer import load

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "tokenizer.json": b'{"model": {"vocab": {"a": 0}}}', "tokenizer_config.json": b"{}",
    "tokenizer.model": b"never asked for", "modeling_own.py": b"raise SystemExit", "model.safetensors": b"weights",
}  # fmt: skip


LARGE = "own/large"
"""A model whose tokenizer is larger, by its hub, than any that is fetched."""


class Hub(ThreadingHTTPServer):
    """A hub with two models of the same files."""

    asked: list[str]


class Pages(BaseHTTPRequestHandler):
    """What the hub answers."""

    server: Hub  # type: ignore[pyrefly:bad-override-mutable-attribute]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        self.server.asked.append(f"{self.command} {path}")
        model = path.removeprefix("/api/models/")
        if model in ("own/tiny", LARGE):
            sizes = {name: 10**12 if model == LARGE else len(data) for name, data in FILES.items()}
            listed = [{"rfilename": name, "size": size, "blobId": "0"} for name, size in sizes.items()]
            self._answer(200, json.dumps({"id": model, "sha": COMMIT, "siblings": listed}).encode())
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

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


CALLS = """
import json
from rolloupe.errors import UnreadablePath
from rolloupe.tokenizer import load

calls = [("own/unasked", False), ("own/tiny", True), ("own/tiny", False), ("own/large", True), ("own/other", True)]
for name, is_download in calls:
    try:
        tokenizer = load(name, download=is_download)
        print(json.dumps([len(tokenizer), str(tokenizer.file.path)]))
    except UnreadablePath as error:
        print(json.dumps(str(error)))
"""
"""Programs of their own know no other hub: the library reads its settings when it is imported."""


Asked = tuple[list[str], list[Any]]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def asked_and_answered(cache: Path) -> Asked:
    """What the hub was asked for, and what each of the calls gave."""
    server = Hub(("127.0.0.1", 0), Pages)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env |= {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(cache), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", CALLS], env=env, capture_output=True, text=True, check=True)
    server.shutdown()
    server.server_close()
    return server.asked, [json.loads(line) for line in done.stdout.splitlines()]


def test_only_what_decoding_reads_is_fetched_and_only_once(cache: Path, asked_and_answered: Asked) -> None:
    asked, (_, fetched, cached, *_) = asked_and_answered
    assert fetched == cached and fetched[0] == 1 and fetched[1].startswith(str(cache))
    files = [line.rpartition("/")[2] for line in asked if line.startswith("GET /own/tiny/")]
    assert sorted(files) == ["tokenizer.json", "tokenizer_config.json"]
    assert asked.count("GET /api/models/own/tiny") == 1


def test_nothing_is_fetched_that_nobody_asked_for(asked_and_answered: Asked) -> None:
    asked, (refused, *_) = asked_and_answered
    assert "--download-tokenizer" in refused
    assert not [line for line in asked if "own/unasked" in line]


def test_a_file_that_is_too_large_is_not_fetched(asked_and_answered: Asked) -> None:
    asked, answers = asked_and_answered
    assert "larger than" in answers[3]
    assert not [line for line in asked if "own/large/resolve" in line]


def test_a_model_that_is_not_there_is_named(asked_and_answered: Asked) -> None:
    assert asked_and_answered[1][4].startswith("the tokenizer own/other cannot be fetched")


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UnreadablePath, match=r"pip install 'rolloupe\[hub\]'"):
        load("own/tiny", download=True)
