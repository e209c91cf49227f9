"""The unit of systemd and the container file of docs/serve start real servers."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.support import forked
from tests.forks import Fork
from tests.server.support import relax_run
from tests.server.team.server_process import request

SERVE = Path(__file__).parents[3] / "docs/serve"


def started(words: Sequence[str], places: Mapping[str, str]) -> Fork:
    """Start a command line of a document, in other places; the longest of several that fit counts."""
    moved = []
    for word in words:
        place = max((one for one in places if one in word), key=len, default="")
        moved.append(word.replace(place, places[place]) if place else word)
    assert set(places) == {place for place in places if any(place in word for word in words)}
    return forked(*moved)


def line_of(server: Fork) -> str:
    return server.stdout.readline().decode()


def ended(server: Fork) -> int:
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=30)
    return server.wait()


def prepared(folder: Path) -> tuple[str, str]:
    relax_run(folder / "runs" / "first", steps=1)
    (folder / "access.toml").write_text('[people]\nada = "reader"\n')
    return str(folder / "runs"), str(folder / "access.toml")


def test_the_unit_starts_a_server_on_its_socket(tmp_path: Path) -> None:
    text = (SERVE / "rolloupe.service").read_text("utf-8")
    match = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert match is not None
    program, *words = shlex.split(match[1].replace("\\\n", " "))
    assert program == "/opt/rolloupe/bin/rolloupe"
    runs, access = prepared(tmp_path)
    place = str(tmp_path / "socket")
    server = started(
        words,
        {
            "/data/runs": runs, "/run/rolloupe/socket": place, "/etc/rolloupe/access.toml": access,
            "/var/lib/rolloupe": str(tmp_path / "state"), "/var/cache/rolloupe": str(tmp_path / "index"),
        },
    )  # fmt: skip
    try:
        assert "serves a team" in line_of(server)
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(place)
            line.sendall(
                request("GET", "/api/state", "X-Forwarded-User: ada").replace(b"localhost", b"rollouts.example.org")
            )
            answer = b"".join(iter(lambda: line.recv(65536), b""))
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["user"] == "ada"
    finally:
        code = ended(server)
    assert code == 0
    conf = (SERVE / "nginx.conf").read_text("utf-8")
    assert "unix:/run/rolloupe/socket:" in conf and "X-Forwarded-User $remote_user" in conf
    without_login = conf.partition("location ~ ^/(healthz|readyz|metrics)$ {")[2]
    assert "auth_basic" not in without_login and "proxy_pass" in without_login


def test_the_container_starts_a_server_whose_health_can_be_checked(tmp_path: Path) -> None:
    text = (SERVE / "Containerfile").read_text("utf-8")
    lines = re.findall(r"^(ENTRYPOINT|CMD|HEALTHCHECK CMD) (\[.*\])$", text, re.MULTILINE)
    lists: dict[str, list[str]] = {name: json.loads(words) for name, words in lines}
    command = [*lists["ENTRYPOINT"], *lists["CMD"]]
    program, words = command[0], command[1:]
    assert program == "rolloupe"
    runs, access = prepared(tmp_path)
    server = started(
        words,
        {
            "/runs": runs, "/access.toml": access, "/state": str(tmp_path / "state"), "/index": str(tmp_path / "index"),
            "0.0.0.0:8080": "127.0.0.1:0", "10.89.0.2": "127.0.0.1",
        },
    )  # fmt: skip
    try:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line_of(server))
        assert found is not None
        check = [word.replace("127.0.0.1:8080", f"127.0.0.1:{found[1]}") for word in lists["HEALTHCHECK CMD"]]
        assert subprocess.run([sys.executable, *check[1:]], check=False, timeout=30).returncode == 0
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/readyz", timeout=5) as answer:
                    assert answer.read() == b"ok\n"
                break
            except OSError:
                time.sleep(0.1)
        headers = {"X-Forwarded-User": "ada", "Host": "rollouts.example.org"}
        asked = urllib.request.Request(f"http://127.0.0.1:{found[1]}/api/runs", headers=headers)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert [run["name"] for run in json.load(answer)["runs"]] == ["first"]
    finally:
        code = ended(server)
    assert code == 0
