"""A search whose client has gone costs nothing any more half a second later, wherever in a part it is."""

import json
import math
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from rolloupe.cli.terminal import NOTHING
from rolloupe.server.params import MAX_RUNS
from tests.cli.support import command
from tests.query.search.test_reports import many
from tests.server.server_process import Process
from tests.server.support import BEARER, WRITE, ask, lines, opened, relax_run, row, served

GONE_S = 0.5
"""So long after the client has gone the search is over."""

WATCHED_S = 1.0
IDLE_S = 0.15
"""CPU time that an idle server takes in that time, at most, on a machine that others use; a search takes all of it."""

TRIES = 3
"""A command that is slow to end once may have waited for a busy machine."""

SLOW: dict[str, Any] = {"text": "(alpha|beta|gamma)( [a-z]+){3,9} (kappa|iota) (zeta|eta)x", "regex": True}
"""RE2 takes a second for three megabytes of these texts."""

SEARCHES: dict[str, dict[str, Any]] = {
    "a pattern that takes long": SLOW,
    "a text that is nowhere": {"text": "zzzz"},
    "a text that is everywhere": {"text": "alpha"},
    "what a role says": {"text": "alpha", "roles": ["assistant"]},
}


def write_large_run(folder: Path, size_bytes: int) -> Path:
    """A run of one file of about this size."""
    drawn = random.Random(1)
    words = ["alpha", "beta", "gamma", "delta", "épsilon", "zeta", "eta", "theta", "iota", "kappa"]
    text = " ".join(drawn.choice(words) for _ in range(400_000))
    train = folder / "rollout_result/train"
    train.mkdir(parents=True)
    with (train / "0.jsonl").open("wb") as file:
        for index in range(size_bytes // 4000):
            at = drawn.randrange(len(text) - 4000)
            file.write(lines([row(0, index, response=text[at : at + 4000])]))
    return folder


def cpu_s(pid: int) -> float:
    """The CPU time that a process has taken, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begun(server: Process, search: dict[str, Any], read_for_s: float) -> bytes:
    """Begin a search, read its stream for a while and go away. Returns what came."""
    asked = {"tab": "a", "search": {"regex": False, "case": False, "word": False, "roles": [], **search}}
    body = json.dumps(asked).encode()
    headers = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    until, read = time.monotonic() + read_for_s, b""
    with server.connected() as line:
        line.sendall(server.request("/api/search", *headers, method="POST") + body)
        while (left := until - time.monotonic()) > 0:
            line.settimeout(left)
            try:
                read += line.recv(65536)
            except TimeoutError:
                break
    return read


def check_ends(
    folder: Path, tmp_path: Path, *, budget_bytes: int | None, reads_for_s: tuple[float, ...] = (0.2, 0.5)
) -> None:
    with Process([folder], tmp_path / "index", port=0, budget_bytes=budget_bytes) as server:
        while [run["progress"]["phase"] for run in server.json("/api/runs")["runs"]] != ["ready"]:
            time.sleep(0.1)
        for name, search in SEARCHES.items():
            for read_for_s in reads_for_s:
                read = begun(server, search, read_for_s)
                if b'"kind":"over"' in read:
                    assert search is not SLOW, "it was over before the client went"
                    continue
                time.sleep(GONE_S)
                before_s = cpu_s(server.pid)
                time.sleep(WATCHED_S)
                assert cpu_s(server.pid) - before_s <= IDLE_S, name


@pytest.mark.parametrize("budget_bytes", [0, None], ids=["from the files", "from the index"])
@pytest.mark.slow
def test_a_search_in_200_megabytes_ends_with_its_client(tmp_path: Path, budget_bytes: int | None) -> None:
    check_ends(write_large_run(tmp_path / "run", 200_000_000), tmp_path, budget_bytes=budget_bytes)


def test_a_search_ends_with_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SEARCHES", {"a pattern that takes long": SLOW})
    check_ends(write_large_run(tmp_path / "run", 8_000_000), tmp_path, budget_bytes=0, reads_for_s=(0.3,))


@pytest.mark.slow
def test_a_search_in_a_long_report_ends_with_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SEARCHES", {"what a long report holds": {"text": "hay 2999 99"}})
    check_ends(many(tmp_path / "run", 3000), tmp_path, budget_bytes=None)


@pytest.mark.slow
def test_a_search_on_the_command_line_ends_with_ctrl_c(tmp_path: Path) -> None:
    folder = write_large_run(tmp_path / "run", 96_000_000)
    place = ("--index-dir", tmp_path / "index")
    subprocess.run(command("index", folder, *place), check=True, capture_output=True)
    words = command("search", folder, str(SLOW["text"]), "--regex", *place)
    assert any(interrupted_s(words) <= GONE_S for _ in range(TRIES))


def interrupted_s(words: list[str]) -> float:
    """How long a command goes on after Ctrl-C that comes while it is busy; infinite if it went on to its end."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as searching:
        while cpu_s(searching.pid) < 2:  # it has begun, and is in the middle
            assert searching.poll() is None
            time.sleep(0.02)
        began_s = time.monotonic()
        searching.send_signal(signal.SIGINT)
        _, errors = searching.communicate(timeout=30)
        took_s = time.monotonic() - began_s
    if searching.returncode == NOTHING:
        return math.inf
    assert searching.returncode == 130 and b"Traceback" not in errors
    return took_s


def test_runs_that_are_named_twice_are_searched_once_and_not_too_many_are_taken(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    app = served(opened(tmp_path / "run", tmp_path / "index"))

    def found(runs: list[str]) -> Any:
        body = {"tab": "a", "search": {"text": "Answer", "roles": ["response"] * 50}, "runs": runs}
        return ask(app, "POST", "/api/search", BEARER | WRITE, json.dumps(body).encode())

    last = json.loads(found(["run"] * 5000).body.splitlines()[-1])
    assert (last["kind"], last["found"], last["known_samples"]) == ("over", 24, 24)
    refused = found([f"run{number}" for number in range(MAX_RUNS + 1)])
    assert refused.status == 400 and f"{MAX_RUNS:,}" in refused.json["error"]
