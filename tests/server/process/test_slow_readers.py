"""Clients that ask for much and read little: other requests are answered at once, and memory stays bounded."""

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from rolloupe.server.process.uvicorn_server import MAX_CONNECTIONS, MAX_UNSENT_BYTES
from rolloupe.server.threads import FILES
from tests.server.routes.test_search_ends import cpu_s
from tests.server.server_process import Process
from tests.server.support import lines, relax_run, row

READERS = 50
ANSWER_S = 1.0
"""So quickly other requests are answered, whoever else reads slowly."""

GROWTH_BYTES = 512 * 2**20
"""By so much the server's memory may grow at most; DuckDB alone may take half of it."""

LARGE_CHARS = 6_000_000

KERNEL_BYTES = 5 * 2**20
"""So much of a reply the system takes from the server without anybody reading it."""


def large_run(folder: Path) -> Path:
    """A run with samples of some megabytes, each another, and with thousands of small ones."""
    train = folder / "rollout_result/train"
    train.mkdir(parents=True)
    rows = [row(0, index, response=f"{index} word" * (LARGE_CHARS // 6)) for index in range(8)]
    (train / "0.jsonl").write_bytes(lines(rows))
    (train / "1.jsonl").write_bytes(lines(row(1, index, response="word " * 200) for index in range(20_000)))
    return folder


def memory_bytes(pid: int) -> int:
    """What a process holds in memory."""
    (line,) = (one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def requests(server: Process) -> list[bytes]:
    """What slow readers ask for: one each."""
    (run,) = server.json("/api/runs")["runs"]
    path = f"/api/runs/{quote(run['id'], safe='')}"
    ids = [quote(f"train/0/{index // 4}/{index}", safe="") for index in range(8)]
    targets = [
        f"{path}/sample/{kind}?id={one}&start={start}" for one in ids for kind in ("raw", "text") for start in (0, 1)
    ]
    targets += [f"{path}/sample?id={one}" for one in ids[:4]]
    targets += [f"{path}/samples?split=train&step=1&limit=5000&offset={n}" for n in range(4)]
    targets += [f"{path}/export?to={kind}&texts=whole" for kind in ("jsonl", "csv")]
    targets += [f"{path}/samples.csv?split=train&step=1", *["/api/events"] * 4]
    asked = [server.request(target) for target in targets]
    body = json.dumps({"tab": "?", "search": {"text": "word"}}).encode()
    for number in range(3):
        own = body.replace(b"?", str(number).encode())
        headers = ("Content-Type: application/json", f"Content-Length: {len(own)}")
        asked.append(server.request("/api/search", *headers, method="POST") + own)
    assert len(asked) == READERS
    return asked


@contextlib.contextmanager
def slow_readers(server: Process, asked: list[bytes], *, is_silent: bool) -> Iterator[None]:
    """Connections that read a few bytes a second, or nothing."""
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.5):
            for line in selectors_of(sockets):
                with contextlib.suppress(OSError):
                    line.recv(8)

    with ExitStack() as stack:
        sockets = []
        for one in asked:
            sockets.append(silent(stack, server, one))
            time.sleep(0.1)
        thread = threading.Thread(target=read)
        if not is_silent:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if not is_silent:
                thread.join()


def selectors_of(sockets: list[socket.socket]) -> list[socket.socket]:
    """Those that have something to read."""
    with selectors.DefaultSelector() as selector:
        for line in sockets:
            selector.register(line, selectors.EVENT_READ)
        return [line for line in sockets if line.fileno() in {key.fd for key, _ in selector.select(0)}]


def check(server: Process, path: str, for_s: float, before: int) -> tuple[float, int]:
    """Ask other things for a while. Returns the longest that took, and the most memory that the server held."""
    until, longest, most, number = time.monotonic() + for_s, 0.0, 0, 0
    while time.monotonic() < until:
        number += 1
        for target in (
            "/api/runs",
            f"{path}/samples?split=train&step=1&limit=50&offset={50 * number}",
            f"{path}/sample?id={quote(f'train/1/{number // 4}/{number}', safe='')}",
        ):
            began_s = time.monotonic()
            answer = server.send(target)
            longest = max(longest, time.monotonic() - began_s)
            assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
        most = max(most, memory_bytes(server.pid) - before)
        time.sleep(0.05)
    return longest, most


def settled(server: Process) -> None:
    """Wait until all that was asked for is made, and only waits to be read."""
    until = time.monotonic() + 60
    before_s, now_s = -1.0, cpu_s(server.pid)
    while now_s - before_s > 0.05 and time.monotonic() < until:
        time.sleep(0.5)
        before_s, now_s = now_s, cpu_s(server.pid)


def run_campaign(tmp_path: Path, for_s: float, ways: Sequence[bool], *, at_once: bool) -> None:
    """Look at the time that other requests take; `at_once` from the moment that the readers have asked."""
    with Process([large_run(tmp_path / "run")], tmp_path / "index", port=0, cache_memory_mb=8) as server:
        while [run["progress"]["phase"] for run in server.json("/api/runs")["runs"]] != ["ready"]:
            time.sleep(0.1)
        (run,) = server.json("/api/runs")["runs"]
        path = f"/api/runs/{quote(run['id'], safe='')}"
        check(server, path, 0.5, 0)
        before = memory_bytes(server.pid)
        for is_silent in ways:
            with slow_readers(server, requests(server), is_silent=is_silent):
                if not at_once:
                    settled(server)
                longest, most = check(server, path, for_s, before)
            assert longest <= ANSWER_S
            assert most <= GROWTH_BYTES


@pytest.mark.slow
def test_replies_that_nobody_reads_take_a_bounded_amount_of_memory(tmp_path: Path) -> None:
    train = tmp_path / "run/rollout_result/train"
    train.mkdir(parents=True)
    train.joinpath("0.jsonl").write_bytes(lines(row(0, index, response="\x01" * 2_000_000) for index in range(3)))
    ids = [quote(f"train/0/0/{index}", safe="") for index in range(3)]
    targets = [f"/api/runs/run/sample/text?id={one}&start={start}" for one in ids for start in range(5)]
    with Process([tmp_path / "run"], tmp_path / "index", port=0) as server, ExitStack() as stack:
        while [run["progress"]["phase"] for run in server.json("/api/runs")["runs"]] != ["ready"]:
            time.sleep(0.1)
        size = len(server.send(targets[0]))
        assert len(targets) * size > 4 * MAX_UNSENT_BYTES, "or nothing would be tested"
        asked = [silent(stack, server, server.request(target)) for target in targets]
        settled(server)
        left = sum(is_whole(line, size) for line in asked)
        assert 1 <= left <= MAX_UNSENT_BYTES // (size - KERNEL_BYTES) + 1


def silent(stack: ExitStack, server: Process, asked: bytes) -> socket.socket:
    """A connection that asks and reads nothing."""
    line = stack.enter_context(socket.socket())
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", server.port))
    line.sendall(asked)
    return line


def is_whole(line: socket.socket, size: int) -> bool:
    """True where the answer comes to its end; one that was broken off does not."""
    line.settimeout(10)
    with contextlib.suppress(ConnectionError):
        return sum(map(len, iter(lambda: line.recv(2**20), b""))) > 0.99 * size
    return False


def test_half_open_and_idle_connections_keep_nobody_out(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with Process([tmp_path / "run"], tmp_path / "index", port=0) as server, ExitStack() as stack:
        for number in range(600):
            line = stack.enter_context(server.connected())
            line.sendall(b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n"[: number % 40])
        began_s = time.monotonic()
        assert server.send("/api/runs").startswith(b"HTTP/1.1 200")
        assert time.monotonic() - began_s <= ANSWER_S
        assert server.json("/api/runs")["runs"]
        assert len(list(Path(f"/proc/{server.pid}/fd").iterdir())) < MAX_CONNECTIONS + 60


@pytest.mark.slow
def test_files_that_fifty_ask_for_at_once_are_begun_few_at_a_time(tmp_path: Path) -> None:
    with Process([large_run(tmp_path / "run")], tmp_path / "index", port=0) as server, ExitStack() as stack:
        while [run["progress"]["phase"] for run in server.json("/api/runs")["runs"]] != ["ready"]:
            time.sleep(0.1)
        target = f"/api/runs/{quote(server.json('/api/runs')['runs'][0]['id'], safe='')}/samples.csv?split=train&step=1"
        asked = [silent(stack, server, server.request(target) * 3) for _ in range(READERS)]
        began_s = time.monotonic()
        assert server.send("/api/runs").startswith(b"HTTP/1.1 200")
        assert time.monotonic() - began_s <= ANSWER_S
        settled(server)
        begun = [line.recv(15, socket.MSG_PEEK) for line in asked]
        assert begun.count(b"HTTP/1.1 200 OK") == FILES
        assert begun.count(b"HTTP/1.1 503 Se") == READERS - FILES


@pytest.mark.slow
def test_fifty_slow_readers_for_half_a_minute_hold_up_nobody(tmp_path: Path) -> None:
    run_campaign(tmp_path, 30.0, (True, False), at_once=True)


@pytest.mark.slow
def test_fifty_slow_readers_hold_up_nobody(tmp_path: Path) -> None:
    run_campaign(tmp_path, 3.0, (False,), at_once=False)
