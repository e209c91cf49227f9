"""What a filter leaves out is counted: samples without tokens, and discarded ones, which the page lists apart."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe.record import Recorder
from rolloupe.server.app import App
from tests.cli.support import rolloupe
from tests.index.support import eventually
from tests.server.support import get, opened, run_path, served

WAIT = quote('token "Wait"')
NO_TOKENS = "1 of 3 samples have no tokens."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A step of two samples with tokens, one without, and a discarded one with tokens."""
    with Recorder(tmp_path / "run", code=None) as recorder:
        for index in range(4):
            tokens, series = ([" Wait", " x"], {"entropy": [1.0, 2.0]}) if index != 2 else (None, None)
            uid = recorder.sample(
                step=0, group="g", index=index, prompt="p", response=" Wait x", tokens=tokens, series=series
            )
        recorder.discard(uid, "stale")
    return tmp_path / "run"


def settled(app: App, address: str) -> Any:
    """The reply once the index has all that it names."""
    eventually(lambda: get(app, address).json["pending"] == 0)
    return get(app, address).json


def test_the_page_and_the_command_line_count_the_same_and_say_what_is_left_out(run: Path, tmp_path: Path) -> None:
    listed = rolloupe("query", run, "--where", 'token "Wait"', "--json")
    assert [line["discarded"] for line in listed.lines] == [None, None, "stale"]
    assert "Discarded: 1 of 3. 'discarded is null' leaves them out, as the page does." in listed.err
    assert NO_TOKENS in listed.err
    with opened(run, tmp_path / "index") as library:
        app = served(library)
        for kind in ("samples", "groups"):
            address = f"{run_path(app)}/{kind}?split=train&step=0&trained=1&where={WAIT}"
            reply = settled(app, address)
            assert reply["total" if kind == "samples" else "samples"] == 2
            assert (reply["discarded"], reply["reasons"]) == (1, [NO_TOKENS])
        other = get(app, f"{run_path(app)}/samples?split=train&step=0&trained=0&where={WAIT}").json
        assert (other["total"], other["discarded"], other["reasons"]) == (1, 0, [])
        plain = get(app, f"{run_path(app)}/samples?split=train&step=0&trained=1&where=reward+is+null").json
        assert (plain["total"], plain["discarded"], plain["reasons"]) == (3, 1, [])


def test_a_column_is_called_empty_only_if_no_sample_can_have_it(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        uid = recorder.sample(step=0, prompt="p", response="r", metrics={"nothing": float("nan"), "late": float("nan")})
    never, later = {"nothing"}, {"advantage", "late"}
    for advantage in (None, 1.5):
        if advantage is not None:
            with Recorder(tmp_path / "run", code=None) as recorder:
                recorder.annotate(uid, advantage=advantage, metrics={"late": 2.0})
        with opened(tmp_path / "run", tmp_path / f"index {advantage}") as library:
            app = served(library)
            columns = get(app, f"{run_path(app)}/columns?split=train").json["columns"]
        empty = {one["name"] for one in columns if one["is_empty"] and one["source"] != "derived"}
        assert empty & (never | later) == (never if advantage else never | later)
        assert "step" not in empty
