"""Single files on web servers: with ranges they are read, without them an error says so."""

import datetime as dt
import hashlib
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

import rolloupe
from rolloupe.storage.remote import connection, stores, tree
from rolloupe.storage.remote.failures import ReplacedObject
from tests.cli.support import rolloupe as command

LINES = b"".join(
    b'{"prompt": "p%d", "response": "%s", "reward": 1.0, "step": 1}\n' % (number, b"word " * 20_000)
    for number in range(20)
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask once: these servers list no folders, however often they are asked."""
    monkeypatch.setattr(stores, "RETRIES", 0)


@contextmanager
def serving(files: dict[str, bytes], *, sends_ranges: bool = True) -> Iterator[str]:
    """A web server with these files, which knows conditions and ranges, or sends whole files only."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path)
            tag = f'"{hashlib.blake2b(data or b"", digest_size=6).hexdigest()}"'
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if sends_ranges else None
            code = 404 if data is None else 412 if self.headers.get("If-Match", tag) != tag else 206 if wanted else 200
            body = b"" if data is None or code == 412 else data
            self.send_response(code)
            if wanted and code == 206:
                start, stop = int(wanted[1]), min(int(wanted[2]) + 1, len(body))
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(body)}")
                body = body[start:stop]
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", tag)
            self.send_header("Last-Modified", "Fri, 27 Nov 2026 07:00:00 GMT")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Clients that want a range leave when the whole file comes."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_file_on_a_web_server_is_read(tmp_path: Path) -> None:
    with (
        serving({"/a%20b/run.jsonl": LINES}) as address,
        rolloupe.open(f"{address}/a b/run.jsonl", index_dir=tmp_path) as runs,
    ):
        (run,) = runs
        assert run.path == f"{address}/a b/run.jsonl"
        assert [split.samples for split in run.splits()] == [20]
        one, *_ = run.samples(limit=1)
        assert run.sample(one.id).response_text == "word " * 20_000


def test_a_server_that_sends_whole_files_only(tmp_path: Path) -> None:
    with serving({"/run.jsonl": LINES}, sends_ranges=False) as address:
        done = command("ls", f"{address}/run.jsonl", "--index-dir", tmp_path)
    assert "the server sends whole files only, no ranges of them. Next: download it, and open it" in done.err


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    with serving({}) as address:
        done = command("ls", f"{address}/runs", "--index-dir", tmp_path)
    assert done.err == f"Error: {address}/runs: does not exist. Next: check the address\n"


def test_an_object_replaced_on_a_server_that_knows_no_conditions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    link = connection.ObstoreConnection("az", "container")
    listed = connection.state_of({"size": 2, "last_modified": dt.datetime.now(dt.UTC), "e_tag": "0x1"})

    async def body(**_: int) -> AsyncIterator[bytes]:
        yield b"ab"

    async def get(*_: object, **__: object) -> SimpleNamespace:
        return found

    found = SimpleNamespace(meta={"e_tag": '"0x1"'}, stream=body)
    monkeypatch.setattr(link, "obstore", SimpleNamespace(get_async=get))
    assert listed.tag == '"0x1"', "as a look-up says it: listings of Azure and Google leave out the quotes"
    assert bytes(link.read("a", 0, 2, listed)) == b"ab"
    found.meta["e_tag"] = '"0x2"'
    with pytest.raises(ReplacedObject):
        link.read("a", 0, 2, listed)
    assert tree.stat_of("/az:/container/a", listed).st_ino & 1, "its bytes may be what they were"
