"""Runs of another machine: the command runs there, through a real server of SSH, and answers here."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rolloupe.cli import main, over_ssh
from tests import sshd
from tests.cli.support import command, rolloupe
from tests.thoroughness import each, slow_unless

ADDRESS = re.compile(r"Rolloupe is at (http://127\.0\.0\.1:\d+/)#token=(\S+)")


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which `far` and `behind` are machines that SSH reaches."""
    with sshd.serving(tmp_path_factory.mktemp("sshd")) as environment:
        yield environment


def taken(name: str, *words: str) -> over_ssh.FarCommand | None:
    """What a command would run elsewhere."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return over_ssh.far_command(command, click.Context(command), words)


def processes(word: str) -> dict[int, list[str]]:
    """The command lines of the processes that have this word, by their ids."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = place.read_bytes().decode(errors="replace").split("\0")
            if word in line:
                found[int(place.parent.name)] = line
    return found


def viewers() -> dict[int, list[str]]:
    """The viewers that were started over SSH."""
    return processes("--over-ssh")


def wait_until(is_so: object, timeout_s: float = 30.0) -> None:
    """Wait until a function returns true."""
    began = time.monotonic()
    while not is_so():  # type: ignore[pyrefly:not-callable]
        assert time.monotonic() - began < timeout_s
        time.sleep(0.05)


@pytest.mark.parametrize("host", ["far", slow_unless(False, "behind")])
def test_a_command_runs_there(run: Path, far: dict[str, str], host: str) -> None:
    words = command("steps", f"{host}:{run}", "--split", "train", "--json")
    there = subprocess.run(words, env=far, capture_output=True, text=True, check=True, timeout=60)
    here = rolloupe("steps", run, "--split", "train", "--json")
    assert there.stdout == here.out
    assert json.loads(there.stdout.splitlines()[0])["samples"] == 4


@pytest.mark.slow
def test_its_exit_code_comes_here(tmp_path: Path, far: dict[str, str]) -> None:
    done = subprocess.run(command("ls", f"far:{tmp_path}/no 'such' $run"), env=far, capture_output=True, check=False)
    assert done.returncode == rolloupe("ls", tmp_path / "no").code
    assert b"no 'such' $run does not exist" in done.stderr


def test_where_rolloupe_is_missing(tmp_path: Path, far: dict[str, str]) -> None:
    without = {**far, "ROLLOUPE_REMOTE_COMMAND": "no-such-command"}
    done = subprocess.run(command("ls", f"far:{tmp_path}"), env=without, capture_output=True, check=False)
    assert done.returncode == 3
    assert b"far has no command `rolloupe`. Next: install it there, or set ROLLOUPE_REMOTE_COMMAND" in done.stderr


def test_a_report_comes_here(run: Path, tmp_path: Path, far: dict[str, str]) -> None:
    words = command("export", "html", f"far:{run}", "--no-findings", "-o", tmp_path / "r.html")
    done = subprocess.run(words, env=far, capture_output=True, text=True, check=True, timeout=60)
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert done.stdout == "" and " samples, " in done.stderr


def test_conversions_stay_on_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for places in (("far:x", "out"), ("x", "far:out"), ("far:x", "near:y")):
        done = rolloupe("convert", *places, "--to", "relax")
        assert done.code == 2 and "machine" in done.err
    both = taken("convert", "far:x", "far:y", "--to", "relax")
    assert both is not None and both.words == ["x", "y"]


@pytest.mark.parametrize(
    "ending", [signal.SIGINT, slow_unless(False, signal.SIGTERM), slow_unless(False, signal.SIGKILL)]
)
def test_the_page_of_a_run_there(run: Path, far: dict[str, str], ending: signal.Signals) -> None:
    viewer = subprocess.Popen(
        command("view", f"behind:{run}"), env=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert viewer.stdout is not None
        found = ADDRESS.match(viewer.stdout.readline())
        assert found is not None
        request = urllib.request.Request(f"{found[1]}api/runs", headers={"Authorization": f"Bearer {found[2]}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert [one["format"] for one in json.load(answer)["runs"]] == ["relax"]
        (line,) = viewers().values()
        assert found[2] not in " ".join(line), "everybody on the machine could read the token"
        if ending is signal.SIGINT:
            os.killpg(viewer.pid, ending)  # as a terminal does
        else:
            viewer.send_signal(ending)
        assert viewer.wait(timeout=30) == (-signal.SIGKILL if ending is signal.SIGKILL else 0)
        wait_until(lambda: not viewers())
    finally:
        viewer.kill()
        said = viewer.communicate()[1]
    assert said == "It runs on behind, which reads the runs where they are.\n" or ending is signal.SIGKILL


@pytest.mark.slow
def test_a_lost_connection_ends_the_viewer_there(run: Path, far: dict[str, str]) -> None:
    viewer = subprocess.Popen(command("view", f"far:{run}"), env=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert viewer.stdout is not None
        assert b"Rolloupe is at" in viewer.stdout.readline()
        (client,) = processes("ExitOnForwardFailure=yes")
        os.kill(client, signal.SIGKILL)
        wait_until(lambda: not viewers())
        assert viewer.wait(timeout=30) == 3
        assert b"the connection to far was lost" in viewer.communicate()[1]
    finally:
        viewer.kill()
        viewer.communicate()


def test_a_port_that_is_taken_there_is_drawn_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = iter([98, 98, 0])
    monkeypatch.setattr(over_ssh, "view_there", lambda _: next(codes))
    assert rolloupe("view", f"far:{run}").code == 0
    assert next(codes, None) is None


def test_a_viewer_says_that_its_port_is_taken(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        words = command("view", "--over-ssh", "--no-browser", "--port", str(port), run)
        assert subprocess.run(words, input=b"long-enough-token\n", check=False, timeout=60).returncode == 98


@each("word", ["user@gpu-box:/runs", "gpu-box:runs/today", "10.0.0.1:~/x", "h:", "a.b:x y"])
def test_what_names_another_machine(word: str) -> None:
    far = taken("ls", word)
    assert far is not None
    assert f"{far.host}:{far.words[0]}" == (word if word != "h:" else "h:.")


@each("word", ["/a:b", "./gpu:x", "s3://bucket/run", "-oProxyCommand=x:y", "runs/x:1", "a b:c", ":x"])
def test_what_does_not(word: str) -> None:
    assert over_ssh.PATH.fullmatch(word) is None


def test_an_address_with_one_slash_is_no_machine() -> None:
    assert taken("ls", "s3:/bucket/run") is None


def test_a_machine_needs_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(over_ssh, "run", lambda far: seen.append(f"{far.name} {far.host}"))
    assert rolloupe("gpu-box:runs").code == 0
    assert seen == ["view gpu-box"]


def test_a_path_that_exists_here_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far:x").mkdir()
    assert rolloupe("ls", "far:x").code != over_ssh.SSH_FAILED
    assert taken("ls", "far:x") is None


def test_options_go_along_as_written() -> None:
    options = "--map there.toml --reward-range 0:1 --metrics x --metrics y --token secret"
    far = taken("view", "far:a b", *options.split())
    assert far is not None
    line = over_ssh.written(far)
    assert line[0] == "view"
    assert line[-2:] == ["--", "a b"]
    assert "--token" not in line
    assert [line[line.index(name) + 1] for name in ("--map", "--reward-range")] == ["there.toml", "0:1"]
    assert line.count("--metrics") == 2


def test_two_machines_are_refused() -> None:
    done = rolloupe("ls", "far:/a", "near:/b")
    assert done.code == 2
    assert "two machines" in done.err


def test_the_help_needs_no_machine() -> None:
    assert rolloupe("ls", "far:/a", "--help").code == 0


HOSTILE_SSH = """#!/bin/sh
cat {answer}
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a hostile machine answers, whatever it is asked."""
    answer = tmp_path / "answer"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(HOSTILE_SSH.format(answer=answer))
    (tmp_path / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return answer


def test_a_hostile_machine_opens_one_page_and_names_no_address(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("rolloupe.server.process.serve.open_page", opened.append)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(over_ssh, "PIECE_BYTES", 1000)
    evil = b"Rolloupe is at http://evil.example/#token=x\n"
    hostile.write_bytes(evil + b"\xff\x1b]0;\x07" + b"long" * 10_000 + b"\nready\n" + b"ready\n" * 100 + evil)
    told = rolloupe("view", "far:/runs")
    assert told.code == 0 and len(opened) == 1 and "127.0.0.1" in opened[0]
    assert told.out.count("\n") == 1 and ADDRESS.match(told.out)
    assert told.err.count("far: Rolloupe is at http://evil.example") == 2 and "\x1b" not in told.err


def test_what_a_hostile_machine_answers_cannot_steer_the_terminal(hostile: Path) -> None:
    hostile.write_bytes(b"one\r\n\x1b]0;owned\x07\x1b[2J\xc2\x9b31m \xe2\x80\xae\xff\n")
    terminal, end = os.openpty()
    subprocess.run(command("ls", "far:/runs"), stdout=end, stderr=end, check=True, timeout=60)
    os.close(end)
    with contextlib.closing(os.fdopen(terminal, "rb", buffering=0)) as shown:
        text = shown.read(10_000).decode().replace("\r\n", "\n")
    assert text == "one\n\u241b]0;owned\u2407\u241b[2J<U+009B>31m <U+202E>\ufffd\n"
    piped = subprocess.run(command("ls", "far:/runs"), capture_output=True, check=True, timeout=60)
    assert piped.stdout == hostile.read_bytes(), "a file or another program gets every byte as it is"


@each("word", ["-Fx@host:/x", "-oProxyCommand=x@host:/x", "-x:/x", "-@host:/x"])
def test_no_host_is_an_option_of_ssh(word: str) -> None:
    assert taken("ls", "--", word) is None
