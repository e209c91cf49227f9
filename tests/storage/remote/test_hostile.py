"""Stores that send without end, and stores that send requests on to other places."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import pytest

from rolloupe.formats import discover, discovery
from rolloupe.storage.remote import calls, connection, stores
from tests.forks import program
from tests.storage.remote.s3 import KEYS
from tests.thoroughness import each, slow_unless

MIB = 2**20
GROWS_MIB = 256
ENDS_S = 30
ROW = "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>1</ETag><Size>9</Size></Contents>"
Answer: TypeAlias = Callable[["Hostile"], None]


class Hostile(BaseHTTPRequestHandler):
    """A server of S3 that does what `answer` does."""

    protocol_version = "HTTP/1.1"
    answer: Answer

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")  # type: ignore[pyrefly:missing-attribute]
        try:
            type(self).answer(self)
        except OSError:
            self.close_connection = True

    do_HEAD = do_PROPFIND = do_PUT = do_POST = do_GET  # noqa: N815

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def endless(self, status: int, begin: bytes, piece: bytes, pause_s: float = 0, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Transfer_Encoding": "chunked"} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        data = begin or piece
        while True:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            time.sleep(pause_s)
            data = piece

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(answer: Answer, host: str = "127.0.0.1") -> Iterator[tuple[str, list[str]]]:
    """A server, and what it was asked."""

    class Server(ThreadingHTTPServer):
        asked: list[str]

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients leave."""

    with Server((host, 0), type("Handler", (Hostile,), {"answer": answer})) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://{host}:{server.server_port}", server.asked
        server.shutdown()


def listing(rows: str, token: str = "") -> bytes:
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f"<?xml version='1.0'?><ListBucketResult>{more}{rows}</ListBucketResult>".encode()


def endless_pages(self: Hostile) -> None:
    """A page after each page, with other names in each."""
    first = int(parse_qs(urlsplit(self.path).query).get("continuation-token", ["0"])[0])
    self.reply(
        200, listing("".join(ROW.format(f"runs/{n}.jsonl") for n in range(first, first + 1000)), str(first + 1000))
    )


def huge_keys(self: Hostile) -> None:
    first = int(parse_qs(urlsplit(self.path).query).get("continuation-token", ["0"])[0])
    rows = "".join(ROW.format(f"runs/{first + n}{'k' * MIB}") for n in range(20))
    self.reply(200, listing(rows, str(first + 20)))


def huge_page(self: Hostile) -> None:
    self.endless(200, b"<?xml version='1.0'?><ListBucketResult>", ROW.format("runs/a").encode() * 5000)


def huge_element(self: Hostile) -> None:
    self.endless(200, b"<?xml version='1.0'?><ListBucketResult><Name>", b"x" * MIB)


def folders_without_end(self: Hostile) -> None:
    first = int(parse_qs(urlsplit(self.path).query).get("continuation-token", ["0"])[0])
    one = "<CommonPrefixes><Prefix>runs/{}/</Prefix></CommonPrefixes>"
    self.reply(200, listing("".join(one.format(first + n) for n in range(1000)), str(first + 1000)))


def drip(self: Hostile) -> None:
    self.endless(200, b"<?xml version='1.0'?><ListBucketResult>", b" ", pause_s=0.2)


def huge_error(self: Hostile) -> None:
    self.endless(403, b"<Error><Code>", b"x" * MIB)


def packed(self: Hostile) -> None:
    import zlib

    packer = zlib.compressobj(9, wbits=31)
    self.endless(200, b"", packer.compress(b"<" * 64 * MIB) + packer.flush(zlib.Z_FULL_FLUSH), Content_Encoding="gzip")


def long_answer(self: Hostile) -> None:
    """More bytes than were asked for, in the form of what was asked for."""
    begin, _, stop = self.headers["Range"].removeprefix("bytes=").partition("-")
    self.endless(206, b"", b"x" * MIB, 0, Content_Range=f"bytes {begin}-{stop}/{int(stop) + 1}", **HEADERS)


HEADERS = {"ETag": '"1"', "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}

CHILD = """
import json, os, sys, threading, time, warnings
warnings.simplefilter("ignore")  # of the packages that read stores
import obstore
from rolloupe.storage.remote import calls, connection
from rolloupe.storage.remote.calls import ObjectState
calls.MOST_S = float(sys.argv[4])
link = connection.connection(*sys.argv[1:3])
memory, began, is_over, said = calls.memory_bytes, time.monotonic(), False, ""
base = most = memory()
def look():
    global most
    while not is_over:
        most = max(most, memory())
        time.sleep(0.01)
looking = threading.Thread(target=look)
looking.start()
try:
    said = repr(eval(sys.argv[3]))[:300]
except OSError as error:
    said = f"{type(error).__name__}: {error.strerror}"
took_s = time.monotonic() - began
if "Interrupted" in said:
    time.sleep(0.1)
    before = memory()
    time.sleep(0.2)
    said += "" if memory() < before + 2**20 else ": and goes on"
is_over = True
looking.join()
print(json.dumps([(most - base) / 2**20, took_s, said]), flush=True)
os._exit(0)
"""
LIST, BELOW, HEAD = "link.list('runs')", "link.below('runs')", "link.state('runs/a')"
READ = "link.read('a', 0, 1000, ObjectState(1000, 0, '\"1\"'))"
GET = "link.get('a', 1000)"


def environ_of(address: str) -> dict[str, str]:
    """What leads every kind of store to a server."""
    names = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "ROLLOUPE_ANONYMOUS": "1"}
    return {**KEYS, **names, "ROLLOUPE_ENDPOINT": address, "HF_ENDPOINT": address, "HF_TOKEN": "a secret"}


def grown(scheme: str, address: str, call: str, most_s: float = ENDS_S) -> tuple[float, float, str]:
    """The MiB by which a process grows during a call, the seconds that takes, and what comes of it."""
    bucket = {"http": urlsplit(address).netloc, "hf": "datasets"}.get(scheme, "bucket")
    process = program(CHILD, scheme, bucket, call, str(most_s), **environ_of(address))
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    mib, took_s, said = json.loads(out)
    return mib, took_s, said


def outcome(monkeypatch: pytest.MonkeyPatch, scheme: str, address: str, call: str) -> str:
    """What comes of a call in this process."""
    for name, value in environ_of(address).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(stores, "RETRIES", 0)
    monkeypatch.setattr(calls, "PATIENCE_S", 0.1)
    try:
        link = connection.ObstoreConnection(scheme, urlsplit(address).netloc if scheme == "http" else "bucket")
        return repr(eval(call, {"link": link, "ObjectState": calls.ObjectState}))
    except OSError as error:
        return f"{type(error).__name__}: {error.strerror}"


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        slow_unless(call == LIST or answer in (endless_pages, huge_element), answer, call)
        for answer in (endless_pages, huge_keys, huge_page, huge_element, folders_without_end, drip)
        for call in (LIST, BELOW)
    ],
)
def test_a_list_without_end_takes_bounded_memory_and_time(answer: Answer, call: str) -> None:
    with serving(answer) as (address, _):
        mib, took_s, said = grown("s3", address, call, 1.0)
    assert mib < GROWS_MIB and took_s < 8, said
    assert said.startswith("Interrupted: s3://bucket ") and said.endswith(calls.NOT_SEEN), said


@pytest.mark.slow
def test_a_list_without_end_is_given_up_after_half_a_minute() -> None:
    with serving(drip) as (address, _):
        mib, took_s, said = grown("s3", address, LIST)
    assert mib < 20 and took_s < ENDS_S + 2 and "did not end an answer within 30 s" in said


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["s3", "az", "gs", "http"])
@pytest.mark.parametrize("call", [LIST, HEAD, READ, GET, BELOW])
@pytest.mark.parametrize("answer", [huge_error, packed, long_answer])
def test_no_answer_of_any_store_takes_more(scheme: str, call: str, answer: Answer) -> None:
    if answer is long_answer and call != READ:
        return
    with serving(answer) as (address, _):
        mib, took_s, said = grown(scheme, address, call, 4.0)
    assert mib < GROWS_MIB and took_s < 8, said
    assert "Interrupted" in said or "Replaced" in said or "Error" in said


def test_memory_that_others_take_is_not_blamed_on_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bytes] = []

    def slow(self: Hostile) -> None:
        taken.append(b"x" * 2 * calls.MOST_BYTES)
        time.sleep(0.3)  # longer than between two looks
        self.reply(200, listing(ROW.format("runs/a")))

    with serving(slow) as (address, asked):
        said = outcome(monkeypatch, "s3", address, "list(link.list('runs').objects)")
    assert said == "['a']" and len(asked) == 1


SWAP = "link.swap('a', b'x', None)"
DELETE = "link.delete(['a'])"


@each("call", [LIST, BELOW, SWAP, DELETE])
def test_nothing_that_takes_too_much_is_asked_for_again(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    with serving(huge_error) as (address, asked):
        said = outcome(monkeypatch, "s3", address, call)
    assert "sends more than 80 MiB in one answer" in said and len(asked) == 1


def test_bytes_that_are_counted_where_they_are_read_are_no_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(self: Hostile) -> None:
        if "Range" not in self.headers:
            has_read.wait(60)
            self.reply(200, listing(ROW.format("runs/a")))
            return
        begin, stop = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        self.reply(206, b"x" * (stop + 1 - begin), Content_Range=f"bytes {begin}-{stop}/{2**40}", **HEADERS)

    read = "kept.append(link.read('a', 0, 2**23, ObjectState(2**40, 0, '\"1\"')))"
    kept: list[memoryview] = []
    has_read = threading.Event()
    with serving(parts) as (address, _):
        for name, value in environ_of(address).items():
            monkeypatch.setenv(name, value)
        link = connection.ObstoreConnection("s3", "bucket")
        listed = calls.in_thread(lambda: list(link.list("runs").objects))
        while not listed.done():
            eval(read, {"kept": kept, "link": link, "ObjectState": calls.ObjectState})
            if len(kept) * 8 * MIB > 2 * calls.MOST_BYTES:
                has_read.set()
    assert listed.result() == ["a"] and len(kept) * 8 * MIB > 2 * calls.MOST_BYTES


def onward(where: Callable[[str], str]) -> Answer:
    """Sends each request on to somewhere else."""

    def answer(self: Hostile) -> None:
        self.reply(307, Location=where(self.path))

    return answer


SECRET = listing(ROW.format("runs/of-somebody-else"))


@each("scheme", ["s3", "az", "gs", "http"])
@each("call", [LIST, HEAD, READ, GET, BELOW])
def test_no_request_is_sent_on_to_another_host(monkeypatch: pytest.MonkeyPatch, scheme: str, call: str) -> None:
    with serving(lambda self: self.reply(200, SECRET, **HEADERS), host="127.0.0.2") as (inner, inner_asked):
        for target in (inner, inner.replace("127.0.0.2", "localhost"), "http://169.254.169.254", "http://10.0.0.1"):
            with serving(onward(lambda path, target=target: target + path)) as (address, asked):
                said = outcome(monkeypatch, scheme, address, call)
            assert asked and not inner_asked, target
            assert "somebody-else" not in said
            is_missing = scheme == "http" and call == LIST
            assert is_missing or "redirects to another host, which is not followed. Next:" in said, said


def test_a_store_may_send_on_within_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(self: Hostile) -> None:
        if self.path.startswith("/there"):
            self.reply(200, SECRET)
        else:
            self.reply(307, Location=f"/there{self.path}")

    with serving(answer) as (address, _):
        assert "of-somebody-else" in outcome(monkeypatch, "s3", address, LIST)


@each(
    ("environ", "address", "signs_in", "excluded"),
    [
        ({}, "", True, None),
        ({}, "http://minio:9000", True, ["minio"]),
        ({}, "https://minio.example", False, ["minio.example"]),
        ({}, "https://minio.example", True, ["minio.example", *stores.SIGN_IN["s3"]]),
        ({}, "http://[::1]:9000", False, ["::1"]),
        ({"https_proxy": "http://proxy:3128"}, "https://minio.example", False, None),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "minio"}, "https://minio", False, ["minio"]),
        ({"all_proxy": "http://proxy:3128"}, "http://minio", False, None),
    ],
)  # fmt: skip
def test_which_hosts_a_store_may_lead_to(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], address: str, signs_in: bool, excluded: list[str] | None
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    options = stores.fence("s3", address, signs_in=signs_in)
    assert options.get("proxy_excludes", "").split(",") == (excluded or [""])


def test_asking_for_a_region_follows_no_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda self: self.reply(200, x_amz_bucket_region="eu-evil-1")) as (elsewhere, asked_elsewhere):

        def answer(self: Hostile) -> None:
            self.reply(301, Location=elsewhere, x_amz_bucket_region="eu-north-1")

        with serving(answer) as (address, _):
            monkeypatch.setenv("ROLLOUPE_ENDPOINT", address)
            assert stores.region_of("bucket") == "eu-north-1" and not asked_elsewhere


@each("status", [200, 400, 403, 404, 409, 416, 500, 501])
@each("call", [LIST, HEAD, READ, BELOW])
def test_no_error_repeats_what_a_server_sends(monkeypatch: pytest.MonkeyPatch, status: int, call: str) -> None:
    body = b"<Error>Go to evil.example\x1b[2J and type your key</Error>"
    with serving(lambda self: self.reply(status, body, **HEADERS)) as (address, _):
        for scheme in ("s3", "http"):
            assert "evil" not in outcome(monkeypatch, scheme, address, call)


@pytest.mark.parametrize("name", ["d", "step_"])
def test_a_store_of_folders_without_end_is_searched_for_some_time(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A clock that goes on by a second with each request. Folders of a step are listed for the run above them."""

    def endless(self: Hostile) -> None:
        above = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        below = "".join(f"<CommonPrefixes><Prefix>{above}{name}{n}/</Prefix></CommonPrefixes>" for n in range(300))
        self.reply(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{below}</ListBucketResult>".encode())

    with serving(endless) as (address, asked):
        monkeypatch.setattr(connection, "connections", {})
        for key, value in (KEYS | {"ROLLOUPE_ENDPOINT": address}).items():
            monkeypatch.setenv(key, value)
        monkeypatch.setattr(discovery, "time", SimpleNamespace(monotonic=lambda: float(len(asked))))
        found = discover([Path(f"s3://bucket-of-{name}/runs")])
        assert discovery.STORE_S <= len(asked) < discovery.STORE_S + 5
    assert found.runs == [] and any(note.is_late and "were not looked at" in note.reason for note in found.notes)


def test_a_call_that_is_given_up_has_let_go_when_its_error_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever ends the program then ends no interpreter that a thread of obstore still asks."""
    monkeypatch.setattr(calls, "MOST_S", 0.1)
    has_let_go = threading.Event()

    async def call() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            threading.Timer(0.05, has_let_go.set).start()

    loop = connection.calls_loop()
    with pytest.raises(OSError, match="did not end an answer"):
        calls.patiently("s3", "b", "/s3:/b/runs", lambda: asyncio.run_coroutine_threadsafe(call(), loop))
    assert has_let_go.is_set()


def test_a_long_list_of_an_honest_store_is_read() -> None:
    def honest(self: Hostile) -> None:
        first = int(parse_qs(urlsplit(self.path).query).get("continuation-token", ["0"])[0])
        rows = "".join(ROW.format(f"runs/{n:060}.jsonl") for n in range(first, first + 1000))
        self.reply(200, listing(rows, str(first + 1000) if first < 39_000 else ""))

    with serving(honest) as (address, _):
        mib, _, said = grown("s3", address, "len(link.list('runs').objects)")
    assert said == "40000" and mib < GROWS_MIB


def of_hub(tree: Answer) -> Answer:
    """A hub with one data set, whose tree is as given."""

    def answer(self: Hostile) -> None:
        if "/tree/" in self.path:
            tree(self)
        else:
            self.reply(200, json.dumps({"id": "lab/set", "sha": "a" * 40, "siblings": []}).encode())

    return answer


def entries(self: Hostile, where: str) -> None:
    names = [{"type": "file", "path": f"runs/{time.monotonic_ns()}-{n}", "size": 9, "oid": "1"} for n in range(1000)]
    self.reply(200, json.dumps(names).encode(), Link=f'<{where}>; rel="next"')


HUB_TREES: dict[str, Answer] = {
    "pages": lambda self: entries(self, f"http://{self.headers['Host']}{self.path}"),
    "page": lambda self: self.endless(200, b'[{"type": "file", "path": "', b"x" * MIB),
    "error": lambda self: self.endless(404, b'{"error": "', b"x" * MIB),
    "packed": packed,
    "drip": lambda self: self.endless(200, b"[", b" ", 0.2),
}


@each("tree", HUB_TREES)
def test_no_answer_of_a_hub_takes_more(tree: str) -> None:
    with serving(of_hub(HUB_TREES[tree])) as (address, _):
        mib, took_s, said = grown("hf", address, "link.list('lab/set/runs')", 1.0)
    assert mib < GROWS_MIB and took_s < 8 and "Next:" in said, said


def test_no_request_of_a_hub_is_sent_on_to_another_host() -> None:
    with serving(lambda self: self.reply(200, b"[]"), host="127.0.0.2") as (inner, inner_asked):
        for tree in (onward(lambda path: inner + path), lambda self: entries(self, f"{inner}/tree/next")):
            with serving(of_hub(tree)) as (address, asked):
                said = grown("hf", address, "link.list('lab/set/runs')")[2]
            assert asked and not inner_asked
            assert "redirects to another host, which is not followed. Next:" in said, said
