"""What crosses the wire is what was in the file: numbers, texts, bytes; once, where the client has it already."""

import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading.codecs import zstd_decompressor
from rolloupe.query.records import LargeInteger, NonFinite, SampleItem
from rolloupe.server.app import App
from rolloupe.text import readable
from rolloupe.wire import encoding
from rolloupe.wire.encoding import number as encode_number
from rolloupe.wire.samples import Fact
from rolloupe.wire.session import Event
from tests.server.support import HUGE, ask, get, lines, opened, relax_run, row, run_path, served

MARKS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def read_back(value: object) -> object:
    """What the browser makes of a number."""
    return (
        MARKS[value] if isinstance(value, str) and value in MARKS else int(value) if isinstance(value, str) else value
    )


@given(st.one_of(st.floats(), st.integers(), st.none()))
def test_a_number_crosses_unchanged(number: float | None) -> None:
    reply = Fact(name="x", kind="metric", value=encode_number(number))
    value = json.loads(encoding.encode(reply))["value"]
    if isinstance(value, int):
        assert abs(value) <= 2**53
    back = read_back(value)
    assert back == number or (isinstance(number, float) and math.isnan(number) and math.isnan(float(str(back))))


def test_an_item_of_a_list_keeps_numbers_that_json_lacks() -> None:
    known = SampleItem(
        id="i", split="s", step=0, group="g", index="0", uid="", reward=NonFinite("-inf"), advantage=0.5, status="",
        turns=1, prompt_tokens=None, response_tokens=LargeInteger(2**60), total_tokens=2, response_chars=0, env="",
        discarded="", prompt="", response="\ud800", response_end="", values=[],
    )  # fmt: skip
    item = json.loads(encoding.encode(known))
    assert [item[name] for name in ("reward", "advantage", "prompt_tokens", "response_tokens", "total_tokens")] == [
        "-Infinity", 0.5, None, str(2**60), 2,
    ]  # fmt: skip
    assert item["response"] == "\ufffd" and "metrics" not in item


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just("\ud800")),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("\udfff"), inner, max_size=4),
        max_leaves=20,
    )
)
def test_any_json_of_a_file_becomes_json_for_the_browser(value: object) -> None:
    reply = Event(kind="x")
    reply.run = encoding.plain({"v": value})
    body = encoding.encode(reply)
    json.loads(body, parse_constant=lambda word: pytest.fail(f"{word} in {body!r}"))


def test_nesting_without_end_is_told() -> None:
    value: object = 1
    for _ in range(5000):
        value = [value]
    assert "nested deeper" in json.dumps(encoding.plain(value))


def test_arguments_of_a_call_keep_their_numbers() -> None:
    assert readable('{"a":1.10,"b":12345678901234567890123}') == '{\n  "a": 1.10,\n  "b": 12345678901234567890123\n}'
    for text in ("{not json", "", "\ud800", "[" * 100_000, '{"a": NaN}'):
        assert readable(text) == text


@pytest.fixture
def strange(folder: Path, tmp_path: Path) -> App:
    """A run whose numbers and texts are hard to send."""
    train = relax_run(folder, steps=1, samples=0)
    rows = [
        row(0, 0, reward=math.nan, big=HUGE + 1, small=-HUGE - 1, bad=math.inf, response="lone \ud800 surrogate"),
        row(0, 1, reward=-math.inf, nested={"deep": [math.nan, HUGE + 1, {"\udfff": "\udc00"}]}),
        row(0, 2, response="x" * 200_000),
    ]
    (train / "0.jsonl").write_bytes(lines(rows))
    return served(opened(folder, tmp_path / "index"))


def test_strange_numbers_and_texts_reach_the_browser(strange: App) -> None:
    path = run_path(strange)
    items = get(strange, f"{path}/samples?split=train&step=0").json["samples"]
    assert [item["reward"] for item in items] == ["NaN", "-Infinity", 0.0]
    columns = "&".join(f"column={name}" for name in ("reward", "bad", "nothing"))
    items = get(strange, f"{path}/samples?split=train&step=0&{columns}").json["samples"]
    assert [item["values"] for item in items] == [
        ["NaN", "Infinity", None],
        ["-Infinity", None, None],
        [0.0, None, None],
    ]
    first, second = (get(strange, f"{path}/sample?id={item['id']}") for item in items[:2])
    assert first.status == second.status == 200
    assert first.json["reward"] == "NaN"
    assert "lone \ufffd surrogate" in first.body.decode()
    steps = get(strange, f"{path}/steps?split=train").json
    assert steps["reward_mean"] == [0.0]
    assert steps["reward_excluded"] == [2]


def test_the_record_is_shown_verbatim(strange: App) -> None:
    path = run_path(strange)
    item = get(strange, f"{path}/samples?split=train&step=0").json["samples"][0]
    reply = get(strange, f"{path}/sample/raw?id={item['id']}").json
    assert str(HUGE + 1) in reply["text"]
    assert "\\ud800" in reply["text"]
    assert reply["size_bytes"] == reply["stop"] == reply["source"]["stop"] - reply["source"]["start"]
    assert reply["source"]["file"].endswith("0.jsonl")


def test_a_large_record_comes_in_blocks(strange: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from rolloupe.server.routes import sample

    path = run_path(strange)
    item = get(strange, f"{path}/samples?split=train&step=0").json["samples"][2]
    whole = get(strange, f"{path}/sample/raw?id={item['id']}").json
    monkeypatch.setattr(sample, "RAW_BYTES", 100_000)
    found, start = "", 0
    while start < whole["size_bytes"]:
        block = get(strange, f"{path}/sample/raw?id={item['id']}&start={start}").json
        assert (block["start"], block["size_bytes"]) == (start, whole["size_bytes"])
        found, start = found + block["text"], block["stop"]
    assert found == whole["text"]
    assert get(strange, f"{path}/sample/raw?id={item['id']}&start={start + 9}").json["text"] == ""


def test_a_block_cuts_no_character_in_two() -> None:
    from rolloupe.server.routes.sample import block_end

    record = "aé😀b".encode()
    assert [block_end(record, 0, size) for size in range(1, 9)] == [1, 1, 3, 3, 3, 3, 7, 8]
    assert block_end(b"\x80" * 20, 0, 10) == 10


def test_what_the_client_has_is_not_sent_again(app: App) -> None:
    target = f"{run_path(app)}/samples?split=train&step=0"
    first = get(app, target)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    assert first.headers["cache-control"] == "private, no-cache"
    for known in (tag, f'"other", {tag}', tag.removeprefix("W/")):
        again = get(app, target, if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert get(app, target, if_none_match='W/"other"').status == 200
    assert get(app, f"{target}&sort=reward").headers["etag"] != tag
    assert ask(app, "GET", target, {"if-none-match": tag}).status == 401


def test_what_changed_is_sent_again(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1)
    library = opened(folder, tmp_path / "index", follow=True)
    app = served(library)
    target = f"{run_path(app)}/steps?split=train"
    first = get(app, target)
    version = library.runs[0].version
    with (train / "0.jsonl").open("ab") as file:
        file.write(lines([row(0, 100)]))
    from tests.index.support import eventually

    eventually(lambda: library.runs[0].version != version and get(app, target).json["samples"] == [9])
    again = get(app, target, if_none_match=first.headers["etag"])
    assert again.status == 200
    library.close()


def test_compression_where_it_helps(strange: App) -> None:
    path = run_path(strange)
    ids = [item["id"] for item in get(strange, f"{path}/samples?split=train&step=0").json["samples"]]
    large = f"{path}/sample?id={ids[2]}"
    plain = get(strange, large)
    packed = get(strange, large, accept_encoding="br, gzip;q=0.5")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in packed.headers["vary"]
    assert gzip.decompress(packed.body) == plain.body
    quick = get(strange, large, accept_encoding="gzip, deflate, br, zstd")
    assert quick.headers["content-encoding"] == "zstd"
    assert zstd_decompressor().decompress(quick.body) == plain.body
    assert "content-encoding" not in get(strange, large, accept_encoding="gzip;q=0").headers
    assert "content-encoding" not in get(strange, f"{path}/sample?id={ids[0]}", accept_encoding="gzip").headers


def test_beyond_loopback_small_replies_are_compressed_too(folder: Path, tmp_path: Path) -> None:
    relax_run(folder)
    app = served(opened(folder, tmp_path / "index"), host="10.0.0.1")
    answer = get(app, f"{run_path(app)}/samples?split=train&step=0", accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
