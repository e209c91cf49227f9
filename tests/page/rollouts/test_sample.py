"""One sample in a real browser: how it is shown, however long and however hostile it is."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Request, expect

from tests.page.support import Viewer, go, viewing
from tests.page.tasks import quick
from tests.server.support import lines, relax_run, row
from tests.text.test_images import png, uri
from tests.thoroughness import slow_unless

pytestmark = pytest.mark.browser

EVERYTHING = {"markdown": True, "latex": True, "code": True}

HACK = "document.title='hacked'"
HOSTILE = [
    f'<img src=x onerror="{HACK}"><img src="http://evil.invalid/i.png">',
    f'<script>{HACK}</script><iframe srcdoc="<script>parent.{HACK}</script>"></iframe>',
    f"<svg onload={HACK}><style>*{{display:none}}</style></svg><math><mtext></mtext></math>",
    f'<a href="javascript:{HACK}" id=app name=getElementById>click</a><form id=document><input name=title></form>',
    f"[click](javascript:{HACK}) [data](data:text/html,<script>{HACK}</script>) <javascript:{HACK}>",
    "![remote](http://evil.invalid/m.png) [ref]: http://evil.invalid/r 'title'",
    f'```html\n<img src=x onerror="{HACK}">\n```\n~~~javascript\n{HACK}\n~~~',
    f"$\\href{{javascript:{HACK}}}{{x}}$ $\\includegraphics{{http://evil.invalid/l.png}}$ \\(\\htmlData{{a=b}}{{x}}\\)",
    "$$\\def\\x{\\x\\x}\\x$$ $\\rule{99999em}{99999em}$ " + "$" + "{" * 900 + "}" * 900 + "$",
    "- " * 400 + "\n" + "> " * 400 + "\n" + "[" * 5000 + "\n" + "*a _b " * 2000,
    "\u202egnp.exe\u2066\u200b \x1b[31m \x00\x07\x7f\u0085 end of controls",
    "[/INST] </s> <|im_end|> <think> </tool_call> </answer> `[bold red]` {{7*7}} ${7*7}",
]


STRANGE = """() => [...document.querySelectorAll('article *')].flatMap(e => [
  .../^(img|script|iframe|style|svg|form|input|object|embed|link|meta|base)$/i.test(e.tagName) ? [e.tagName] : [],
  ...[...e.attributes].filter(a => /^on|^(src|srcdoc|id|name)$/i.test(a.name)).map(a => a.name),
  ...[...e.attributes].filter(a => /^\\s*javascript:/i.test(a.value)).map(a => a.value),
])"""
"""What has no business in a sample whose images are none."""

IS_STOPPED = """() => new Promise(done => {
  addEventListener('keydown', e => setTimeout(() => done(e.defaultPrevented)), {once: true});
  dispatchEvent(new KeyboardEvent('keydown', {key: 'f', ctrlKey: true, bubbles: true, cancelable: true}));
})"""
"""Whether the page keeps Ctrl-F from the browser."""


@contextmanager
def served(tmp_path: Path, *rows: dict[str, Any]) -> Iterator[Viewer]:
    train = relax_run(tmp_path / "run", steps=0)
    (train / "0.jsonl").write_bytes(lines(rows))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        yield viewer


def choose(page: Page, **choices: Any) -> None:
    """Choose how text is shown, as the menu would, for the pages that are opened from now on."""
    page.add_init_script(f"localStorage.setItem('rolloupe.render', JSON.stringify({json.dumps(choices)}))")


def open_sample(page: Page, viewer: Viewer, number: int, view: str = "") -> None:
    go(page, viewer, f"runs/run?sample=train/0/{number // 4}/{number}{view and f'&view={view}'}")
    expect(page.get_by_role("main", name="Sample").get_by_role("heading").first).to_have_text(re.compile("Sample "))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A server over samples with a hostile text each, wherever a text can stand."""
    call = {"id": HOSTILE[0], "function": {"name": HOSTILE[1], "arguments": json.dumps({"x": HOSTILE[2]})}}
    rows = []
    for number, text in enumerate(HOSTILE):
        prompt = [
            {"role": "user", "content": text},
            {"role": text[:40], "content": f"<think>{text}</think>{text}", "tool_calls": [call]},
            {"role": "tool", "content": text, "is_error": True, "logs": {text: text}},
        ]
        rows.append(row(0, number, prompt=prompt, response=f"{text}\n\nread {number}", label=text, weight_version=text))
    with served(tmp_path_factory.mktemp("hostile"), *rows) as viewer:
        yield viewer


@pytest.mark.parametrize(
    "choices",
    [slow_unless(False, {}), EVERYTHING, slow_unless(False, {"think": False, "markers": False, "visible": True})],
)
def test_hostile_text_stays_text_however_it_is_shown(page: Page, hostile: Viewer, choices: dict[str, bool]) -> None:
    choose(page, **choices)
    left: list[str] = []
    wrong: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((hostile.address, "data:", "blob:")):
            left.append(request.url)

    def dismiss(dialog: Dialog) -> None:
        wrong.append(dialog.message)
        dialog.dismiss()

    page.on("request", note)
    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(hostile.link)
    expect(page.locator("[data-scroll='list'] [aria-current]")).to_be_visible()
    for number in range(len(HOSTILE)):
        expect(page.locator("article").get_by_text(f"read {number}").last).to_be_attached()
        expect(page).to_have_url(re.compile(rf"sample=train/0/\d+/{number}\b"))
        if choices is EVERYTHING:
            page.wait_for_function(DRAWN)
        page.keyboard.press("e")
        expect(page.get_by_role("button", name="Collapse all")).to_be_visible()
        assert page.evaluate(STRANGE) == []
        if choices == {}:
            shown = page.evaluate("document.querySelector('article').textContent")
            assert HOSTILE[number] in shown
        page.keyboard.press("ArrowRight")
    assert "hacked" not in page.title()
    assert (left, wrong) == ([], [])


DRAWN = "() => document.querySelector('article [aria-busy=true]') === null"
"""Whatever is on the screen and was to be drawn has been, or says why not."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A server over samples of all kinds: what each number is stands beside it."""
    drawn = "**bold** and $x^2$\n\n```python\ndef f(): pass\n```\n\n[web](https://example.org) <|im_end|>"
    messages = [{"role": "assistant" if n % 2 else "user", "content": f"message {n}"} for n in range(2100)]
    call = {"id": "c1", "function": {"name": "run", "arguments": '{"code":"1/0"}'}}
    called = [
        {"role": "assistant", "content": "I try.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ZeroDivisionError", "is_error": True},
    ]
    content = [{"type": "image_url", "image_url": {"url": address}} for address in (GOOD, BAD)]
    rows = [
        row(0, 0, response=drawn),
        row(0, 1, response="<think>why</think>so"),
        row(0, FOUND, prompt=messages, response="<think>a Needle\U0001f600</think>and a needle"),
        row(0, FOLDED, prompt=[{"role": "system", "content": "hidden needle " + "x " * 200}], response="short"),
        row(0, TEMPLATED, prompt=TEMPLATE, response="So.<|im_end|>"),
        row(0, SPOKEN, prompt=[{"role": "user", "content": "Why?"}, {"role": "user", "content": "Say."}]),
        row(0, ENDLESS, response="a long line " * 400_000 + "that ends"),
        row(0, SEEN, prompt=[{"role": "user", "content": content}], response=f"see {GOOD} and {BAD}", seen=[GOOD]),
        row(0, CALLED, prompt=called, policy_version="v7", staleness=2),
        row(0, CUT, prompt="Be brief. ### Why?"),
    ]
    with served(tmp_path_factory.mktemp("kinds"), *rows) as viewer:
        yield viewer


FOUND, FOLDED, TEMPLATED, SPOKEN, ENDLESS, SEEN, CALLED, CUT = range(2, 10)
GOOD, BAD = uri(png(30, 20) + bytes(60)), uri(b"<svg onload=alert(1)>" * 9, "svg+xml")
TEMPLATE = "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"


def test_what_is_rendered_is_chosen_by_key_and_in_a_menu_and_remembered(page: Page, kinds: Viewer) -> None:
    page.goto(kinds.link)
    article = page.locator("article")
    for _ in range(2):
        expect(article.locator("strong")).to_have_text("bold")
        expect(article.locator("math msup")).to_be_visible()
        expect(article.locator("pre span").first).to_be_visible()
        link = article.get_by_role("link", name="web")
        assert (link.get_attribute("href"), link.get_attribute("rel")) == (
            "https://example.org",
            "noopener noreferrer nofollow",
        )
        page.reload()
    page.keyboard.press("o")
    expect(article.get_by_text("**bold** and $x^2$")).to_be_visible()
    page.keyboard.press("o")
    expect(article.locator("strong")).to_have_text("bold")
    page.get_by_role("button", name="How text is shown").focus()
    page.keyboard.press("Enter")
    for name in ("Markdown", "LaTeX", "Code highlighting"):
        page.get_by_role("checkbox", name=name).press("Space")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="How text is shown 3")).to_be_focused()
    page.reload()
    expect(article.get_by_text("**bold** and $x^2$")).to_be_visible()
    page.get_by_role("button", name="How text is shown 3").click()
    page.get_by_role("checkbox", name="Newlines and special tokens").check()
    expect(article.get_by_text("**bold** and $x^2$↵")).to_be_visible()
    page.wait_for_function("() => CSS.highlights.get('special').size > 0")
    page.get_by_role("checkbox", name="Newlines and special tokens").uncheck()
    page.get_by_role("checkbox", name="Chat-template markers").uncheck()
    expect(article.get_by_text("<|im_end|>")).to_have_count(0)
    page.get_by_role("checkbox", name="Think blocks").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(article.get_by_text("<think>why</think>")).to_be_visible()


HAS = "text => document.querySelector('article')?.textContent.includes(text)"
"""Looking for a text by Playwright's own means walks through all elements again and again."""

SCROLL = """place => {
  const doc = document.querySelector('article').parentElement;
  doc.scrollTo(0, place * doc.scrollHeight);
}"""


SHOWS = """number => document.querySelector('main h1')?.textContent.startsWith(`Sample ${number + 1} of`)
  && document.querySelector('article footer') !== null
  && document.querySelector('[data-scroll=list] [aria-current]') !== null"""
"""Whether that sample is in the page, to its end, and keys lead on from it."""


@pytest.mark.slow
def test_however_long_a_sample_is_no_task_is(page: Page, tmp_path: Path) -> None:
    paragraphs = "\n\n".join(f"Paragraph {n} with $x_{{{n}}}$, **bold**.\n\n- one\n- two" for n in range(6000))
    turns = [
        {"role": "assistant" if n % 2 else "user", "content": f"turn {n} " + "some *text* " * 30} for n in range(2000)
    ]
    messages = [{"role": "assistant" if n % 2 else "user", "content": f"message {n}"} for n in range(100_000)]
    rows = [
        row(0, 0, response="short", group_index=0),
        row(0, 1, response="word and " * 600_000 + "end", group_index=0),
        row(0, 2, prompt=turns, response="end", group_index=0),
        row(0, 3, prompt=messages, response="end", group_index=0),
        row(0, 4, response=paragraphs + "\n\nend", group_index=0),
    ]
    last = ["short", "and end", "turn 1999", "message 1999", "end"]
    with served(tmp_path, *rows) as viewer:

        def read(number: int) -> None:
            """Go on to that sample; where that was tried before, load it again."""
            if page.evaluate("document.querySelector('main h1').textContent").startswith(f"Sample {number + 1} of"):
                page.reload()
            else:
                page.keyboard.press("ArrowRight")
            page.wait_for_function(SHOWS, arg=number, timeout=120_000)
            for place in (0.5, 1.0):
                page.evaluate(SCROLL, place)
                page.wait_for_function(DRAWN, timeout=120_000)

        for choices in ({}, EVERYTHING):
            choose(page, **choices)
            page.goto(viewer.to("runs/run?sample=train/0/0/0"))
            page.wait_for_function(SHOWS, arg=0)
            for number in range(1, len(rows)):
                quick(page, f"sample {number}, {choices}", partial(read, number))
                assert last[number] in page.evaluate("document.querySelector('article').textContent")
                if number == 3 and choices:
                    page.locator("article button", has_text=re.compile("^Last$")).first.click()
                    page.wait_for_function(HAS, arg="message 99999")
                    expect(page.locator("article", has_text="of 100,001")).to_be_visible()
                    page.locator("article button", has_text="Before").first.click()
                    page.wait_for_function(HAS, arg="message 97000")


IS_AT = """text => {
  const [range] = CSS.highlights.get('here') ?? [];
  const box = range?.getBoundingClientRect();
  return range?.toString() === text && box.top >= 0 && box.bottom <= innerHeight;
}"""
"""Whether a place with this text is marked as the one that is looked at, and is on the screen."""


IS_FINDING = "() => document.activeElement?.ariaLabel === 'Find in this sample'"

COUNTS = """text => document.querySelector('[role=search] [role=status]')?.textContent === text"""


def test_a_text_is_found_wherever_it_stands(page: Page, kinds: Viewer) -> None:
    # Whatever Playwright expects in vain makes it describe the whole page, which takes seconds with thousands of turns.
    field = page.locator("[role=search][aria-label='Find in this sample'] input")
    page.goto(kinds.to(f"runs/run?sample=train/0/0/{FOUND}"))
    page.wait_for_function(HAS, arg="message 1999")
    page.keyboard.press("Control+f")
    page.wait_for_function(IS_FINDING)
    field.fill("needle")
    page.wait_for_function(COUNTS, arg="1 of 2")
    page.wait_for_function(IS_AT, arg="Needle")
    field.press("Enter")
    page.wait_for_function(IS_AT, arg="needle")
    page.wait_for_function(COUNTS, arg="2 of 2")
    page.locator("[role=search] button", has_text="Aa").click()
    page.wait_for_function(COUNTS, arg="1 of 1")
    field.fill("message 17")
    page.wait_for_function(COUNTS, arg="1 of 111")
    page.wait_for_function(IS_AT, arg="message 17")
    field.press("Escape")
    page.wait_for_function(f"() => !({IS_FINDING})()")
    # A short sample is the browser's: all of its text is in the page, and what it finds unfolds.
    open_sample(page, kinds, FOLDED)
    expect(page.get_by_text("short", exact=True).last).to_be_visible()
    assert page.evaluate(IS_STOPPED) is False
    expect(field).to_have_count(0)
    folded = page.locator("article [hidden=until-found]")
    expect(folded).to_contain_text("hidden needle")
    folded.evaluate("e => e.dispatchEvent(new Event('beforematch', {bubbles: true}))")
    expect(page.get_by_text("hidden needle").last).to_be_visible()
    page.keyboard.press("F")
    expect(field).to_be_focused()


ENDS = """([name, isEnd]) => {
  const text = document.querySelector(`section[aria-label="${name}"] pre`)?.textContent ?? '';
  return text !== '' && text.includes('that ends') === isEnd;
}"""
"""Whether the block on the page holds the end, or is another: in megabytes Playwright looks for seconds."""


def read_text_and_record(page: Page, kinds: Viewer) -> None:
    """The whole sample is one text, and its record is in blocks."""
    open_sample(page, kinds, TEMPLATED, "text")
    text = page.get_by_role("region", name="Raw text")
    expect(text.locator("pre")).to_have_text(TEMPLATE + "So.<|im_end|>")
    text.get_by_role("button", name="Line breaks").click()
    expect(text.get_by_text("<|im_start|>user↵")).to_be_visible()
    text.get_by_role("button", name="Line breaks").click()
    open_sample(page, kinds, SPOKEN, "text")
    expect(text).to_contain_text("Put together from the messages")
    expect(text.locator("pre")).to_contain_text("[user]")
    for view, name in (("text", "Raw text"), ("raw", "Raw record")):
        open_sample(page, kinds, ENDLESS, view)
        block = page.get_by_role("region", name=name)
        for button, is_end in (("Last block", True), ("Before", False)):
            block.get_by_role("button", name=button).first.click()
            page.wait_for_function(ENDS, arg=[name, is_end])


def look_at_images(page: Page, kinds: Viewer) -> None:
    """Images are thumbnails, and broken ones say so."""
    open_sample(page, kinds, SEEN)
    images = page.locator("article img")
    expect(images).to_have_count(2)
    page.wait_for_function("() => [...document.querySelectorAll('article img')].every(i => i.naturalWidth === 30)")
    expect(page.get_by_text("not a PNG, JPEG, GIF or WebP")).to_have_count(2)
    page.get_by_text("Other fields").click()
    expect(images).to_have_count(3)
    for address in (GOOD, BAD):
        assert address[30:] not in page.content()


def cut_the_prompt(page: Page, kinds: Viewer) -> None:
    """A prompt is cut where a person says so."""
    open_sample(page, kinds, CUT)
    expect(page.get_by_role("group", name="User")).to_contain_text("Be brief. ### Why?")
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Prompt starts after").fill("###")
    page.keyboard.press("Enter")
    page.go_back()
    expect(page.get_by_role("group", name="System")).to_contain_text("Be brief.")
    expect(page.get_by_role("group", name="User")).to_contain_text("Why?")


def follow_a_call(page: Page, kinds: Viewer) -> None:
    """A call and its result are one block; the arguments are shown as written on demand."""
    open_sample(page, kinds, CALLED)
    card = page.get_by_role("group", name="Call of run")
    expect(card).to_contain_text("run1/0")
    expect(card).not_to_contain_text('"code": "1/0"')
    card.get_by_role("button", name="raw").click()
    expect(card).to_contain_text('"code": "1/0"')
    expect(card).to_contain_text("failed")
    expect(card.get_by_role("group", name="Its result")).to_have_text("ZeroDivisionError")
    expect(page.get_by_role("group", name="Tool")).to_have_count(0)
    expect(page.get_by_text("v7, lag 2")).to_be_visible()
    page.get_by_role("main", name="Sample").get_by_role("button", name="completed").click()
    page.get_by_role("menuitem", name="Exclude").click()
    expect(page).to_have_url(re.compile("where="))


def test_what_a_sample_holds_is_shown_in_its_own_way(page: Page, kinds: Viewer) -> None:
    page.goto(kinds.to(f"runs/run?sample=train/0/{TEMPLATED // 4}/{TEMPLATED}"))
    expect(page.locator("article footer")).to_be_attached()
    read_text_and_record(page, kinds)
    look_at_images(page, kinds)
    follow_a_call(page, kinds)
    cut_the_prompt(page, kinds)
