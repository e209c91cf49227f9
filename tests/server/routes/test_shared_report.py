"""A report from the page: the samples of a query or the bookmarks, with what a person wrote about them."""

import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.export import report
from rolloupe.export.report import Report, contents, report_pieces
from rolloupe.export.report.contents import ReportedInsight, ReportedSample
from rolloupe.index import Library
from rolloupe.model import Locator, Sample, SampleKey, SampleRow
from rolloupe.state import FindingAside, State, set_finding_aside
from rolloupe.wire import to_wire
from rolloupe.wire.encoding import encode
from tests.server.support import get, opened, report_data, run_path, served


@pytest.fixture(scope="module")
def grpo(short_grpo: Path, demo_index: Path) -> Iterator[Library]:
    """A run whose samples have tokens."""
    with opened(short_grpo, demo_index) as library:
        yield library


def test_a_report_has_the_samples_of_a_query_and_the_notes_on_them(grpo: Library) -> None:
    app = served(grpo)
    scope = "split=train&step=0&group=00"
    address = f"{run_path(app)}/export?to=html&{scope}"
    answer = get(app, f"{address}&findings=0")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"].endswith("tiny_grpo.samples.html")
    data = report_data(answer.body)
    samples = data["samples"]
    listed = get(app, f"{run_path(app)}/samples?{scope}").json["samples"]
    assert [one["reply"]["id"] for one in samples] == [one["id"] for one in listed] != []
    assert (data["about"], data["part"]) == (
        "Samples of tiny_grpo: train, step 0, group 00.",
        f"{len(listed)} samples.",
    )
    assert samples[0]["tokens"] is not None and {one["note"] for one in samples} == {""}
    low = report_data(get(app, f"{address}&where=reward+%3C+0.5&tokens=0&findings=0").body)
    assert low["about"] == "Samples of tiny_grpo: train, step 0, group 00, where reward < 0.5."
    assert {one["tokens"] for one in low["samples"]} <= {None}
    assert get(app, f"{run_path(app)}/export?to=pdf").status == 400


def test_a_report_begins_with_findings_and_broken_rules_unless_asked_to_leave_them_out(
    grpo: Library, tmp_path: Path
) -> None:
    app = served(grpo, state_dir=str(tmp_path / "state"))
    address = f"{run_path(app)}/export?to=html&split=train&step=0&group=00&tokens=0"
    page = get(app, f"{run_path(app)}/findings").json
    insight = report_data(get(app, address).body)["insight"]
    assert insight["note"] == f"train: {page['note']}" and insight["checked"] > 5
    assert [one["text"] for one in insight["findings"]] == [one["text"] for one in page["findings"]] != []
    assert insight["aside"] == [] and insight["parts"]
    assert report_data(get(app, f"{address}&findings=0").body)["insight"] is None
    first = page["findings"][0]
    with closing(State(tmp_path / "state")) as state:
        name = first["behaviour"] or first["phrase"]
        set_finding_aside(state, grpo.runs[0], name, FindingAside("Asked for", "Ada", 0))
    for notes, words in (("", first["title"]), ("&notes=1", f"{first['title']}: Asked for")):
        insight = report_data(get(app, f"{address}{notes}").body)["insight"]
        assert insight["aside"] == [words] and first["text"] not in [one["text"] for one in insight["findings"]]


def test_a_report_stops_before_it_is_too_large(grpo: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PART_BYTES", 20_000)
    app = served(grpo)
    data = report_data(get(app, f"{run_path(app)}/export?to=html&split=train&step=0&findings=0").body)
    held = len(data["samples"])
    assert 0 < held < 160 and data["title"] == "tiny_grpo"
    assert data["part"] == f"The first {held} of 160 samples."


def test_a_report_begins_before_anything_is_computed_and_is_whole_if_that_fails(
    grpo: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    def insight() -> ReportedInsight | None:
        computed.append("insight")
        raise ValueError("no room for <this>")

    def samples() -> Iterator[ReportedSample]:
        computed.append("samples")
        key = SampleKey("train", 0, "g", "0")
        row = SampleRow(split="train", step=0, group="g", index="0", ordinal=0, start=0, length=1)
        place = Locator(source="x", start=0, length=1)
        yield ReportedSample("run", Sample(key=key, row=row, locator=place, turns=[]), [key])
        raise OSError("the file is gone")

    pieces = report_pieces(Report(title="a run"), samples(), tokens=report.ReportedTokens(), insight=insight)
    first = next(pieces)
    assert first.startswith(b"<!doctype html>") and computed == []
    body = first + b"".join(pieces)
    assert body.endswith(b"</script></body></html>\n") and computed == ["samples", "insight"]
    data = report_data(body)
    assert len(data["samples"]) == 1 and data["insight"] is None and data["title"] == "a run"
    assert [why.partition(": ")[2] for why in data["failures"]] == ["the file is gone", "no room for <this>"]

    def slow(*_: object) -> None:
        computed.append("of the run")

    monkeypatch.setattr(contents, "insight_of", slow)
    app = served(grpo)
    answer = get(app, f"{run_path(app)}/export?to=html&split=train&step=0&group=00&tokens=0")
    assert answer.status == 200 and computed[-1] == "of the run"
    assert report_data(answer.body)["failures"] == []


def test_a_text_longer_than_a_line_of_the_file_goes_on_in_further_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "LINE_CHARS", 100)
    thought = f"<think>{'why? ' * 50}</think>" + "\u4e8c\U0001f600" * 70
    turns = [{"role": "assistant", "content": text} for text in ("short", thought, "short again", "x" * 100, "y" * 101)]
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="g", index=0, prompt="p" * 250, response=turns, reward=1.0)
    sink = io.BytesIO()
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        runs[0].report(sink, rolloupe.SampleQuery())
        turns = runs[0].sample("train/0/g/0").turns
        whole = to_wire.turn_views(turns)
    (data,) = report_data(sink.getvalue())["samples"]
    assert data["reply"]["turns"] == json.loads(encode(report.FurtherTurns(turns=whole)))["turns"]
    lines = sink.getvalue().partition(b'id="data">\n')[2].split(b"\n")
    assert (
        sum(b'"more"' in line for line in lines) == 2 + (2 + 2) + 1 + 1
    )  # the thought is there as it was written, too
