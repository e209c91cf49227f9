"""Outlines that logtree wrote: the JSON and the page are read to the same, and hostile ones do no harm."""

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolloupe.formats.reading import logtree
from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.logtree import conversations, page_in, read_tree, unchecked
from rolloupe.formats.reading.records import Unusable
from rolloupe.model import LogNode
from tests.formats.support import values
from tests.thoroughness import amount

DATA = Path(__file__).parents[2] / "data/tinker"
FLAT = DATA / "flat_run"
DEMO = DATA / "quirks/logtree_demo_logtree.json"


def tree(folder: Path, *children: Any, **more: Any) -> LogNode:
    """The outline of a document with these nodes."""
    root = {"tag": "body", "attrs": {"class": "lt-root"}, "children": children}
    path = folder / "train_logtree.json"
    path.write_text(json.dumps({"title": "T", "root": root} | more))
    return read_tree(alone(path))


def page(folder: Path, body: str) -> LogNode:
    """The outline of a page."""
    path = folder / "train.html"
    path.write_text(f"<!doctype html><html><head><style>p {{}}</style></head><body>{body}</body></html>")
    return page_in(path.read_bytes(), unchecked)


def node(tag: str, *children: Any, **attrs: str) -> dict[str, Any]:
    return {
        "tag": tag,
        "attrs": {key.replace("_", "-").strip("-"): value for key, value in attrs.items()},
        "children": children,
    }


def below(root: LogNode) -> list[LogNode]:
    return [root, *(each for child in root.children for each in below(child))]


def shape(root: LogNode) -> Any:
    """What both files hold: all but calls of tools, and addresses of images."""
    turns = [(t.role, [(p.kind, p.text) for p in t.parts if p.kind not in ("tool_call", "image")]) for t in root.turns]
    return root.kind, root.title, root.text, root.header, root.rows, turns, [shape(child) for child in root.children]


@pytest.mark.parametrize(
    ("json_name", "html_name"),
    [
        (FLAT / "eval_test_iteration_000000_logtree.json", FLAT / "eval_test_iteration_000000.html"),
        (FLAT / "eval_1_iteration_000000_logtree.json", FLAT / "eval_1_iteration_000000.html"),
        (DEMO, DEMO.with_name("logtree_demo.html")),
    ],
)
def test_the_json_and_the_page_say_the_same(json_name: Path, html_name: Path) -> None:
    assert shape(read_tree(alone(json_name))) == shape(page_in(html_name.read_bytes(), unchecked))


def test_every_call_of_logtree_has_its_kind_of_node() -> None:
    root = read_tree(alone(DEMO))
    assert (root.title, root.attrs["started_at"]) == ("logtree API <demo>", "2026-11-21T00:11:15.182749")
    found = below(root)
    assert found[1].text == 'escaped: <b> & "q"\nsecond line'
    assert {each.kind for each in found} == {"root", "section", "text", "code", "table", "details", "conversation"}
    outer = next(each for each in found if each.title == "Outer")
    assert outer.attrs == {"class": "important", "data-group": "3", "id": "g3"}
    assert [(each.title, each.header, each.rows) for each in found if each.kind == "table"] == [
        ("list of dicts", ["a", "b"], [["1", "nan"], ["2", ""]]),
        ("", [], [["x", "y"], ["1", "2"]]),
        ("empty", [], []),
        ("df", ["c"], [["1.0"], ["nan"]]),
        ("", ["key", "value"], [["bs", "32"], ["lr", "0.0001"]]),
        ("", ["n", "s"], [["A", "1"], ["B", "2"]]),
    ]
    assert [each.text for each in found if each.text.startswith("raw")] == ["raw", "raw html", "raw html"]


def test_calls_that_the_cookbook_could_not_parse_are_calls_with_an_error() -> None:
    (logged,) = conversations(read_tree(alone(DEMO)))
    assert [turn.role for turn in logged.node.turns] == ["system", "user", "assistant", "tool", "assistant"]
    calls = [part.call for part in logged.node.turns[2].parts if part.call]
    assert [(call.name, call.error) for call in calls] == [("zoom", ""), ("", "Invalid JSON")]
    assert logged.node.turns[2].parts[0].text == "a </pre><script>alert(1)</script>"


def test_the_message_of_an_exception_is_shown_as_it_is(tmp_path: Path) -> None:
    error = node("details", node("summary", "Exception: E: <img src=x> &lt;"), node("pre", "a &lt; b"), _class="lt-exc")
    (found,) = tree(tmp_path, error).children
    assert (found.kind, found.title) == ("exception", "Exception: E: <img src=x> &lt;")
    assert [(child.kind, child.text) for child in found.children] == [("code", "a < b")]


def test_markup_is_dropped_and_what_was_escaped_is_text(tmp_path: Path) -> None:
    raw = "a<br>b <script>alert(1)</script> &lt;i&gt; 1 < 2 <!-- x --><p onclick='x'>c</p>"
    found = tree(tmp_path, node("div", raw), node("p", "x < y &amp; z"), node("div", "&lt;b&gt;", _class="mine"))
    assert [child.text for child in found.children] == ["a\nb alert(1) <i> 1 < 2 c", "x < y & z", "<b>"]


def test_a_conversation_is_not_unescaped(tmp_path: Path) -> None:
    data = {"type": "conversation", "messages": [{"role": "user", "content": "&lt; \ud800"}]}
    (logged,) = conversations(tree(tmp_path, node("div") | {"data": data}))
    assert logged.node.turns[0].parts[0].text == "&lt; �"


def test_other_data_is_shown_as_json(tmp_path: Path) -> None:
    (found,) = tree(tmp_path, node("div") | {"data": {"type": "plot", "x": [float("nan")]}}).children
    assert found.kind == "text"
    assert json.loads(found.text)["type"] == "plot"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b'{"root": 3}', b'{"root": {"tag": "body", "children": [', b"\xff\xfe",
        b'{"root": ' + b'{"children": [' * 100_000, b'{"root": {"a": 1' + b"0" * 5000 + b"}}",
    ],
)  # fmt: skip
def test_what_is_no_outline_says_why(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train_logtree.json"
    path.write_bytes(content)
    with pytest.raises(Unusable):
        read_tree(alone(path))


def test_what_lies_too_deep_is_shown_as_text(tmp_path: Path) -> None:
    deep: dict[str, Any] = node("p", "bottom")
    for _ in range(200):
        deep = node("section", node("h2", "S"), node("div", deep, _class="lt-section-body"))
    found = below(tree(tmp_path, deep))
    assert len(found) == logtree.MAX_DEPTH + 1
    assert "bottom" in found[-1].text
    assert "bottom" in below(page(tmp_path, "<section>" * 100_000 + "bottom"))[-1].text


def test_a_huge_outline_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logtree, "MAX_NODES", 50)
    many = [node("p", str(number)) for number in range(200)]
    table = node("table", node("tbody", *(node("tr", node("td", "1"), node("td", "2")) for _ in range(200))))
    for root in (tree(tmp_path, *many), tree(tmp_path, table), page(tmp_path, "<p>x</p>" * 200)):
        assert sum(1 + len(each.rows) for each in below(root)) <= 53
        assert "left out: more than 50 parts" in root.children[-1].text


@pytest.mark.parametrize(
    "piece", ["<p>", "<!--", "<a ", "<![CDATA[", "<!", "<?", "&", "</", "<a b='", "<script>", "<<", "<p x=1 "]
)
def test_a_malformed_page_is_read_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    monkeypatch.setattr(logtree, "MAX_S", 1.0)
    began_s = time.monotonic()
    page(tmp_path, piece * (amount(2**16, 2**21) // len(piece)))
    assert time.monotonic() - began_s < 20


@given(values, values, st.sampled_from(["div", "section", "details", "table", "p", "tr", 3, None, ["x"]]))
def test_whatever_a_tree_holds_it_is_read_and_can_be_sent(
    tmp_path_factory: pytest.TempPathFactory, one: Any, other: Any, tag: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    inner = {"tag": tag, "attrs": one, "children": other, "data": None}
    outer = {"tag": tag, "attrs": {"class": other}, "children": [one, inner, other, node("td", inner)], "data": one}
    path = folder / "train_logtree.json"
    path.write_text(
        json.dumps({"title": one, "root": {"tag": "body", "attrs": other, "children": [inner, outer, one]}})
    )
    root = read_tree(alone(path))
    msgspec.to_builtins(root)
    repr(root).encode()


@given(st.text(st.sampled_from("<>/!-pdivsecton abl=\"'&;[?x\n"), max_size=200))
@example("<![")
def test_whatever_a_page_holds_it_is_read(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    repr(page(tmp_path_factory.getbasetemp(), body)).encode()


def test_calls_of_tools_in_a_page_are_calls(tmp_path: Path) -> None:
    call = '<div class="lt-tool-call-part"><span class="lt-tool-call-name">f</span><code>{"a": "&lt;"}</code></div>'
    odd = '<div class="lt-tool-call-part">f()</div>'
    message = f'<div class="lt-message lt-message-assistant"><div class="lt-message-content">{call}{odd}</div></div>'
    (talk,) = conversations(page(tmp_path, f'<div class="lt-conversation">{message}</div>'))
    made, told = talk.node.turns[0].parts
    assert made.call is not None and (made.call.name, made.call.arguments) == ("f", '{"a": "<"}')
    assert (told.kind, told.text) == ("text", "f()")


@pytest.mark.parametrize(("mark", "shown"), [("lt-exc", "E: &lt;b&gt;"), ("lt-exc lt-escaped", "E: <b>")])
def test_a_summary_of_an_exception_is_as_its_writer_has_it(tmp_path: Path, mark: str, shown: str) -> None:
    made = node("details", node("summary", "E: &lt;b&gt;"), _class=mark, open="open")
    (found,) = tree(tmp_path, made).children
    assert (found.kind, found.title, found.attrs) == ("exception", shown, {})
