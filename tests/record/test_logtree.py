"""Outlines: the tree that the cookbook's logtree makes of the same calls, and pages in which nothing is markup."""

import asyncio
import contextlib
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.logtree import conversations, page_in, read_tree, unchecked
from rolloupe.formats.tinker.format import Tinker
from rolloupe.model import LogNode
from rolloupe.record import logtree
from tests.formats.support import only_run, samples, texts, values

DOCUMENT = Path(__file__).parents[2] / "docs/logtree.md"
DEMO = Path(__file__).parents[1] / "data/tinker/quirks/logtree_demo_logtree.json"
HOSTILE = "</pre></div><script>alert(1)</script><img src=x onerror=alert(1)>\"' & \ud800 \0"

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "be <brief> & kind"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "image": "https://example.org/a.png"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "a </pre><script>alert(1)</script>"},
            {"type": "text", "text": "Let me look."},
        ],
        "tool_calls": [
            {"type": "function", "id": "call_1", "function": {"name": "zoom", "arguments": '{"x": 1}'}},
        ],
        "unparsed_tool_calls": [{"raw_text": "<tool_call>{bad</tool_call>", "error": "Invalid JSON"}],
    },
    {"role": "tool", "content": "ok", "tool_call_id": "call_1", "name": "zoom"},
    {"role": "assistant", "content": "A cat.", "trainable": True},
]


class Strong:
    """A formatter without data."""

    def to_html(self) -> str:
        return "<em class='x' onclick='alert(1)'>raw <script>alert(1)</script><a href='http://x'>html</a></em>"

    def get_css(self) -> str:
        return "@import url(http://example.org/x.css)"


class Broken:
    def to_html(self) -> str:
        raise ValueError("Unknown content part type: audio")


@logtree.scope_header_decorator
def bare_decorated() -> None:
    logtree.log_text("inside bare decorator")


@logtree.scope_header_decorator("Titled")
async def titled() -> str:
    logtree.log_text("inside titled decorator")
    return "value"


def nested(level: int) -> None:
    if level == 0:
        logtree.log_text("deep")
        return
    titles = ["still L6", "L6", "L5", "L4", "Inner"]
    with logtree.scope_header(titles[level - 1]):
        nested(level - 1)


def every_call() -> None:
    """The calls of which the cookbook made the sample."""
    logtree.log_text('escaped: <b> & "q"\nsecond line')
    logtree.log_text("with class", div_class="reward")
    logtree.header("inline header")
    logtree.header("fixed level", level=5)
    with logtree.scope_header("Outer", class_="important", data__group=3, id="g3"):
        nested(5)
    with logtree.scope_div(class_="grading", data__x=1):
        logtree.log_text("in a div")
    with logtree.scope_details("click"):
        logtree.log_text("hidden")
    logtree.details("pre <text>", summary="S")
    logtree.details("div text", pre=False)
    logtree.table([{"a": 1, "b": float("nan")}, {"a": 2}], caption="list of dicts")
    logtree.table([["x", "y"], [1, 2]])
    logtree.table([], caption="empty")
    logtree.table_from_dict({"lr": 1e-4, "bs": 32}, sort_by="key")
    logtree.table_from_dict_of_lists({"s": [1, 2], "n": ["A", "B"]}, order=["n", "s"])
    logtree.log_formatter(logtree.ConversationFormatter(TALK))
    with logtree.scope_disable():
        logtree.log_text("not there")
    bare_decorated()
    assert asyncio.run(titled()) == "value"


def test_the_tree_is_the_one_that_the_cookbook_makes() -> None:
    with logtree.init_trace("logtree API <demo>") as trace:
        every_call()
    expected = json.loads(DEMO.read_text())
    assert list(trace.to_dict()) == list(expected)
    made = trace.to_dict()["root"]["children"]
    raw = ("<strong>raw</strong>", "<i>x</i>", "<em class='x'>raw html</em>")
    kept = [child for child in expected["root"]["children"] if child["children"] not in [[one] for one in raw]]
    at = next(n for n, child in enumerate(kept) if child["children"] == ["df"])  # of pandas
    kept[at : at + 2] = []
    assert kept[1]["attrs"] == made[1]["attrs"] == {"class": "lt-subtitle"}
    assert json.dumps(made[2:], indent=2) == json.dumps(kept[2:], indent=2)


def test_a_page_and_the_json_are_read_to_the_same(tmp_path: Path) -> None:
    with logtree.init_trace("T", tmp_path / "train.html", json_path=tmp_path / "train_logtree.json"):
        every_call()
    tree = read_tree(alone(tmp_path / "train_logtree.json"))
    page = page_in((tmp_path / "train.html").read_bytes(), unchecked)
    for root in (tree, page):
        (talk,) = conversations(root)
        calls = [part.call for turn in talk.node.turns for part in turn.parts if part.call and not part.call.error]
        assert [(call.name, call.arguments) for call in calls] == [("zoom", '{"x": 1}')]
    assert titles(tree) == titles(page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.html", "train_logtree.json"]


def titles(node: LogNode) -> list[str]:
    return [node.title, *(found for child in node.children for found in titles(child))]


class Seen(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attrs: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attrs |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_page() -> str:
    with contextlib.suppress(RuntimeError), logtree.init_trace(HOSTILE) as trace:
        logtree.log_text(HOSTILE, div_class=HOSTILE)
        logtree.log_html(f"<b style='x' onclick='y'>kept</b><iframe src=z></iframe>{HOSTILE}<svg/onload=1>")
        logtree.header(HOSTILE)
        logtree.details(HOSTILE, summary=HOSTILE)
        logtree.table([{HOSTILE: HOSTILE}], caption=HOSTILE)
        logtree.log_formatter(Strong())
        said = [{"type": "text", "text": HOSTILE}, {"type": "thinking", "thinking": HOSTILE}, {"type": HOSTILE}]
        call = {"function": {"name": HOSTILE, "arguments": HOSTILE}}
        failed = [{"raw_text": HOSTILE, "error": HOSTILE}]
        logtree.conversation(
            [{"role": HOSTILE, "name": HOSTILE, "content": said, "tool_calls": [call], "unparsed_tool_calls": failed}]
        )
        marks: dict[str, Any] = {"onclick": "alert(1)", "style": "x", "a b><script": HOSTILE, "href": "http://x"}
        with logtree.scope_div(**marks), logtree.scope_header(HOSTILE):
            raise RuntimeError(HOSTILE)
    return trace.get_html()


def test_nothing_that_was_logged_is_markup_and_nothing_is_loaded() -> None:
    page = hostile_page()
    seen = Seen(page)
    assert not seen.tags & {"script", "img", "iframe", "svg", "a", "link", "object", "embed", "form", "base"}
    names = {name for name, _ in seen.attrs}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "href", "srcset")]
    assert ("http-equiv", "Content-Security-Policy") in seen.attrs
    assert not re.search(r"url\(|@import|javascript:", page)
    assert "kept" in seen.text and "raw" in seen.text
    assert seen.text.count("<script>alert(1)</script>") >= 10


def test_a_page_is_drawn_in_light_and_in_dark() -> None:
    with logtree.init_trace("T") as trace:
        pass
    assert "color-scheme: light dark" in trace.get_html() and "prefers-color-scheme: dark" in trace.get_html()


def test_outside_of_a_trace_nothing_happens(tmp_path: Path) -> None:
    every_call()
    logtree.log_formatter(Broken())
    with contextlib.suppress(RuntimeError), logtree.scope_header("x"):
        raise RuntimeError("as it is")
    assert logtree.flush_trace() is False
    assert logtree.current_trace() is None


def test_what_is_switched_off_and_on() -> None:
    with logtree.init_trace("T") as trace:
        for enable in (True, False):
            with logtree.optional_enable_logging(enable), logtree.scope_header(str(enable)):
                logtree.log_text("x")
        logtree.log_text("after")
    shown = trace.get_html()
    assert "True" in shown and "False" not in shown and "after" in shown


def outline(trace: logtree.Trace, tmp_path: Path) -> LogNode:
    path = tmp_path / "any_logtree.json"
    logtree.write_trace_json(trace, path)
    return read_tree(alone(path))


def test_an_exception_is_recorded_once_in_its_scope_and_goes_on(tmp_path: Path) -> None:
    def fail() -> None:
        with contextlib.suppress(KeyError), logtree.scope_header("caught"):
            raise KeyError("k")
        with logtree.scope_header("inner"):
            raise ValueError("<b> & &lt;")

    path = tmp_path / "train.html"
    opened = logtree.init_trace("T", path)
    with pytest.raises(ValueError, match="<b>"), opened as trace, logtree.scope_header("outer"):
        fail()
    outer = outline(trace, tmp_path).children[0]
    caught, inner = outer.children
    assert [(one.kind, one.title) for one in caught.children] == [("exception", "Exception: KeyError: 'k'")]
    (failed,) = inner.children
    assert (failed.kind, failed.title) == ("exception", "Exception: ValueError: <b> & &lt;")
    assert "Traceback" in failed.children[0].text and "in fail\n" in failed.children[0].text
    assert "scopes.py" not in failed.children[0].text
    assert path.read_text().count("Traceback (most recent call last)") == 2


def test_without_write_on_error_a_failed_outline_is_not_written(tmp_path: Path) -> None:
    with contextlib.suppress(ValueError), logtree.init_trace("T", tmp_path / "x.html", write_on_error=False):
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with logtree.init_trace("T", tmp_path / "file/x.html"):
        logtree.log_text("x")
    assert "could not be written" in caplog.text


def test_an_outline_can_be_looked_at_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    with logtree.init_trace("T", path), logtree.scope_header("s"):
        logtree.log_text("early")
        assert logtree.flush_trace()
        assert "early" in path.read_text()


def texts_of(node: LogNode) -> list[str]:
    own = [node.text] if node.kind == "text" and node.text else []
    return own + [text for child in node.children for text in texts_of(child)]


def test_tasks_at_the_same_time_write_below_their_own_scopes(tmp_path: Path) -> None:
    async def rollout(number: int) -> None:
        with logtree.scope_header(f"rollout {number}", trajectory=number):
            for turn in range(3):
                await asyncio.sleep(0)
                with logtree.scope_header(f"turn {turn}"):
                    await asyncio.sleep(0.001 * (number % 3))
                    logtree.log_text(f"{number} {turn}")
            if number == 4:
                raise RuntimeError("4 fails")

    async def step() -> None:
        with logtree.scope_header("group", group=0):
            await asyncio.gather(*(rollout(number) for number in range(20)), return_exceptions=True)

    with logtree.init_trace("T") as trace:
        asyncio.run(step())
        logtree.log_text("at the end")
    (group, end) = outline(trace, tmp_path).children
    assert end.text == "at the end"
    assert len(group.children) == 20
    for section in group.children:
        number = section.title.removeprefix("rollout ")
        assert texts_of(section)[:3] == [f"{number} {turn}" for turn in range(3)]
        assert section.attrs == {"data-trajectory": number}
        assert [child.kind for child in section.children].count("exception") == (number == "4")


def test_a_generator_closed_elsewhere_leaves_the_scopes_as_they_were(tmp_path: Path) -> None:
    async def turns() -> Any:
        with logtree.scope_header("turns"):
            yield 1
            yield 2

    async def main() -> None:
        made = turns()
        await anext(made)
        await asyncio.create_task(made.aclose())
        with logtree.scope_header("after"):
            logtree.log_text("x")

    with logtree.init_trace("T") as trace:
        asyncio.run(main())
    assert "exception" not in [child.kind for child in outline(trace, tmp_path).children[0].children]


def test_threads_log_where_they_were_sent_from(tmp_path: Path) -> None:
    def work(number: int) -> None:
        logtree.log_text(str(number))

    with logtree.init_trace("T") as trace:
        with logtree.scope_header("sent"), ThreadPoolExecutor(4) as pool:
            list(pool.map(logtree.carried(work), range(50)))
        alone = threading.Thread(target=work, args=(99,))
        alone.start()
        alone.join()
    assert sorted(map(int, texts_of(outline(trace, tmp_path)))) == list(range(50))


def test_traces_within_traces_keep_to_themselves() -> None:
    with logtree.init_trace("outer") as outer:
        with logtree.scope_header("s"), logtree.init_trace("inner") as inner:
            logtree.log_text("inner text")
        logtree.log_text("outer text")
    assert "inner text" in inner.get_html() and "inner text" not in outer.get_html()
    assert "outer text" in outer.get_html() and "outer text" not in inner.get_html()


def test_a_formatter_that_fails_costs_its_own_place(tmp_path: Path) -> None:
    with logtree.init_trace("T") as trace:
        logtree.log_formatter(Broken())
    assert texts_of(outline(trace, tmp_path)) == [
        "(Broken could not be shown: ValueError: Unknown content part type: audio)"
    ]


def test_scopes_without_end_stay_readable(tmp_path: Path) -> None:
    def deeper(level: int) -> None:
        with logtree.scope_header(str(level)):
            deeper(level + 1) if level < 200 else logtree.log_text("bottom")

    with logtree.init_trace("T") as trace:
        deeper(0)
    assert texts_of(outline(trace, tmp_path)) == ["bottom"]
    assert "bottom" in trace.get_html()


class Call:
    """A call as the cookbook's pydantic model has it."""

    id = "1"

    class function:  # noqa: N801
        name = "f"
        arguments = "{}"


class Said:
    role = "assistant"
    content: object = None
    tool_calls = (Call(),)


def test_messages_of_every_kind(tmp_path: Path) -> None:
    picture = "data:image/png;base64," + "A" * 400_000
    with logtree.init_trace("T") as trace:
        logtree.conversation([Said(), {"role": "user", "content": [{"type": "image", "image": picture}]}, "odd", None])
    (talk,) = conversations(outline(trace, tmp_path))
    assert [turn.role for turn in talk.node.turns] == ["assistant", "user", "unknown", "unknown"]
    call = talk.node.turns[0].parts[0].call
    assert call is not None and (call.name, call.arguments, call.id) == ("f", "{}", "1")
    assert talk.node.turns[1].parts[0].text == "image/png, 292 kB"
    assert len(trace.get_html()) < 20_000


def test_the_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        exec(compile(code, "logtree.md", "exec"), {"__name__": "example"})
        run = only_run(tmp_path / "runs/outline")
        found = samples(run)
        assert [sample.row.reward for sample in found if sample.key.group == "5"] == [1.0, 0.0] * 6
        assert [sample.row.response for sample in found[:4]] == ["4", "5", "4", "5"]
        tree = Tinker().logtree(run, "train", 2)
        assert tree is not None
        assert len({node.attrs["data-group"] for node in tree.children}) == 4
    assert len((tmp_path / "runs/outline/metrics.jsonl").read_bytes().splitlines()) == 3


def test_the_documentation_names_every_function() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    own = [name for name, value in vars(logtree).items() if getattr(value, "__module__", "") == logtree.__name__]
    public = {name for name in own if not name.startswith("_")} - {"Formatter", "Trace"}
    assert len(public) > 15 and {name for name in public if name not in text} == set()


said = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "unparsed_tool_calls", "name"]) | texts, values, max_size=5
)


@given(st.lists(said | values, max_size=4), values, texts)
def test_whatever_is_logged_it_is_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, messages: Any, value: Any, text: str
) -> None:
    base = tmp_path_factory.getbasetemp() / "any"
    trace = logtree.init_trace(text, f"{base}.html", json_path=f"{base}_logtree.json")
    with trace, logtree.scope_header(text, group=value, trajectory=text):
        logtree.conversation(messages)
        logtree.conversation(value)
        logtree.table(value, caption=text)
        logtree.table([value, {text: value}])
        logtree.table_from_dict({1: value, text: value}, sort_by="key")
        logtree.table_from_dict_of_lists({text: [value], "x": []})
        logtree.table_from_dict(value)
        logtree.table_from_dict_of_lists(value)
        logtree.table_from_dict_of_lists({text: value})
        logtree.details(text, summary=text)
        logtree.log_html(text)
        logtree.log_formatter(value)
    tree = read_tree(alone(f"{base}_logtree.json"))
    page_in(Path(f"{base}.html").read_bytes(), unchecked)
    assert len(list(conversations(tree))) >= 2
    page = Path(f"{base}.html").read_text(encoding="utf-8")
    assert not Seen(page).tags & {"script", "img", "svg", "a"}
