"""`rolloupe view` and `demo`: the options reach the server, and the server ends with the right exit code."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from rolloupe import demo
from rolloupe.demo import RUNS
from rolloupe.formats.discovery import discover
from rolloupe.model import Reading
from rolloupe.server.process.serve import address
from rolloupe.server.settings import RunPaths, Settings, ViewerOptions
from tests.cli.support import forked, rolloupe
from tests.thoroughness import each


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the server was started with."""
    calls: list[Any] = []
    for name in ("view", "demo"):
        module = importlib.import_module(f"rolloupe.cli.commands.{name}")
        monkeypatch.setattr(module, "serve", lambda place, options, **_: calls.append((place, options)))
    return calls


def test_the_defaults(asked: list[Any]) -> None:
    assert rolloupe("view", "some").code == 0
    assert asked == [(RunPaths(("some",)), ViewerOptions())]


def test_every_option_reaches_the_server(asked: list[Any], tmp_path: Path) -> None:
    fields = tmp_path / "fields.toml"
    fields.write_text('prompt = "a.b"\n')
    words = "--host 0.0.0.0 --port 9 --base-path /x --cache-memory 1 --cache-entries 2 --no-browser --token secret "
    words += "--no-token --rotate-token --allow-host a --allow-host b --cors * --cors http://c --index-dir d "
    words += (
        "--format relax --follow-symlinks --data-dir more --reward-key k --reward-range -1:2 --index-budget 20GB "
        "--tokenizer own/tiny --download-tokenizer --run one --map "
    )
    assert rolloupe("view", "some", "other", *words.split(), fields).code == 0
    reading = Reading(
        format="relax", follow_symlinks=True, reward_key="k", reward_range=(-1.0, 2.0),
        fields=(("prompt", "a.b"),), tokenizer="own/tiny", download_tokenizer=True,
    )  # fmt: skip
    options = ViewerOptions(
        host="0.0.0.0", port=9, base_path="/x", cache_memory_mb=1, cache_entries=2, no_browser=True, token="secret",
        no_token=True, rotate_token=True, allow_hosts=("a", "b"), cors=("*", "http://c"), budget_bytes=20_000_000_000,
    )  # fmt: skip
    assert asked == [(RunPaths(("some", "other", "more"), "d", reading, "one"), options)]


def test_the_address_names_the_view(asked: list[Any]) -> None:
    settings = Settings(token="t", view="tokens")
    assert address(settings, 80, "t") == "http://127.0.0.1:80/?view=tokens#token=t"
    assert rolloupe("view", "some", "--view", "tokens").code == 0 and len(asked) == 1
    refused = rolloupe("view", "some", "--view", "token")
    assert refused.code == 2 and "is not one of 'transcript', 'tokens'" in refused.err


def test_the_demo_shows_the_runs_that_come_with_the_package(asked: list[Any]) -> None:
    assert rolloupe("demo", "--port", "9").code == 0
    ((place, options),) = asked
    assert options == ViewerOptions(port=9)
    assert place.paths[0] == str(RUNS / "tiny_grpo")
    listed = discover([Path(path) for path in place.paths]).runs
    assert {run.root for run in listed} == {run.root for run in discover([RUNS]).runs}


@each(
    ("words", "code", "said"),
    [
        ([], 2, "Missing argument 'PATH...'"),
        (["/no/such/run"], 3, "/no/such/run does not exist"),
        ([".", "--port", "70000"], 2, "--port"),
        ([".", "--token", "secret", "--no-token"], 2, "exclude each other"),
        ([".", "--format", "nothing"], 2, "There are: native, telescope, tinker"),
    ],
)
def test_what_cannot_be_shown(words: list[str], code: int, said: str) -> None:
    done = rolloupe("view", *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_it_serves_until_interrupted(tmp_path: Path) -> None:
    process = forked("demo", "--port", "0", "--no-browser", "--no-token", "--index-dir", tmp_path)
    address = re.search(r"http://\S+", process.stdout.readline().decode())
    assert address is not None
    with urllib.request.urlopen(address[0] + "api/runs", timeout=20) as answer:
        reply = json.loads(answer.read())
    assert reply["opens_on"] == reply["runs"][0]["id"] == "tiny_grpo"
    assert all(run["about"] for run in reply["runs"])
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert b"Traceback" not in errors


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "rolloupe", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rolloupe ")


def test_the_runs_of_the_demo_are_as_old_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RUNS / "other_formats/relax", tmp_path / "relax")
    monkeypatch.setattr(demo, "RUNS", tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (demo.RECORDED_S + 9, demo.RECORDED_S + 9))
    os.utime(files[0], (7, 7))
    demo.dated()
    assert {path.stat().st_mtime for path in files} == {7, demo.RECORDED_S}
