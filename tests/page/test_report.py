"""A report: one file that opens from a disk, asks nobody for anything, and executes nothing that the model wrote."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import rolloupe
from rolloupe.query import SampleQuery, token_page
from rolloupe.wire.to_wire import PAGE_TURNS
from tests.page.looks.test_everywhere import AXE, axe
from tests.page.looks.test_firefox import NODE, WALK, firefox
from tests.page.tasks import quick
from tests.server.support import lines

pytestmark = pytest.mark.browser

HOSTILE = (
    "</script><script>window.owned=1</script>", "<img src=x onerror='window.owned=1'>", "<!--", "]]>", "\u202eevil",
    "javascript:window.owned=1", "<style>*{display:none}</style>", "\u2028\ud800\x00",
)  # fmt: skip
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOKENS, RECORDED = 32_768, ("logprobs", "trainer_logprobs", "ref_logprobs", "entropy", "advantages")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on three samples, of which the first holds all that is hostile in texts, strings and names."""
    folder = tmp_path_factory.mktemp("report")
    text = " ".join(HOSTILE)
    with rolloupe.Recorder(folder / "run", code=None) as recorder:
        for number, response in enumerate((text, "the second needle", "the third")):
            tokens = list(HOSTILE) if number == 0 else response.split(" ")
            recorder.sample(
                step=0, group=text[:40], index=number, prompt=text, response=response, reward=float(number),
                tokens=tokens, label=text, tags={"</script>": text}, env="<b>",
                series={
                    "logprobs": [-0.5 * at for at in range(len(tokens))], "<i>": [1.0] * len(tokens),
                    "trainer_logprobs": [-0.5 * at + (0.01 if at else 1.0) for at in range(len(tokens))],
                    "advantages": [1.0] * len(tokens),
                },
                top_logprobs=[[(token, -0.1), (HOSTILE[0], -2.5)] for token in tokens],
            )  # fmt: skip
    target = folder / "a report.html"
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        done = runs[0].report(target, SampleQuery(), title=HOSTILE[0])
    assert (done.files, done.samples) == ([target], 3)
    return target


@pytest.fixture
def opened(page: Page, report: Path) -> Iterator[Page]:
    """The report in a browser; at the end nothing was asked for and nothing complained."""
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(report.as_uri())
    page.get_by_role("navigation", name="Samples").get_by_role("button").first.wait_for()
    yield page
    assert ({address.split("#")[0] for address in asked}, faults) == ({report.as_uri()}, [])
    assert page.evaluate("window.owned") is None


def test_a_report_shows_what_is_hostile_as_text_and_asks_for_nothing(opened: Page) -> None:
    main = opened.get_by_role("main", name="Sample")
    main.get_by_text("<img src=x onerror='window.owned=1'>").first.wait_for()
    assert opened.get_by_role("heading", level=1).inner_text() == HOSTILE[0]
    opened.keyboard.press("t")
    opened.get_by_role("group", name="Tokens, by arrow keys").wait_for()
    expect(main).to_contain_text("<script>window.owned=1</script>")
    opened.get_by_role("group", name="Form").get_by_role("button", name="Update").click()
    legend = opened.get_by_role("list", name="What the colours mean")
    expect(legend).to_contain_text(f"pushed up {len(HOSTILE) - 1}")
    expect(legend).to_contain_text("masked or clipped 1")
    opened.get_by_role("button", name="Thresholds:").click()
    expect(main).to_contain_text("This report holds this rule with these thresholds only.")
    expect(main.locator("input[type=range]")).to_have_count(0)
    opened.keyboard.press("Escape")
    shares = opened.get_by_role("complementary", name="Shares of the update")
    expect(shares.get_by_role("region", name="By token")).to_contain_text("<style>")
    opened.locator("[data-at='1']").click()
    alternatives = opened.get_by_label("Alternatives of the token")
    expect(alternatives.locator("dt")).to_have_text([re.compile("onerror=.* chosen$"), re.compile("owned=1</script>")])
    opened.keyboard.press("t")
    main.get_by_text("Golden").wait_for()


def test_a_policy_lets_its_own_script_run_and_nothing_else(report: Path) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report.read_text())
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy and "*" not in policy
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", rules["script-src"])
    assert report.read_text().count("<script") == 3  # the licences, the data, and the script


@pytest.mark.slow
def test_a_long_sample_is_whole_and_what_the_file_lacks_is_named(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    turns = [{"role": ("assistant", "user")[at % 2], "content": f"turn {at}."} for at in range(PAGE_TURNS + 1)]
    with rolloupe.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, prompt=[{"role": "user", "content": [image]}], response=turns)
    target = tmp_path / "r.html"
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        runs[0].report(target, SampleQuery())
    page.goto(target.as_uri())
    main = page.get_by_role("main", name="Sample")
    expect(main).to_contain_text("image/png")
    expect(main).to_contain_text("not in this report")
    expect(main).to_contain_text(f"turn {PAGE_TURNS}.", timeout=60_000)
    expect(main.get_by_role("navigation")).to_have_count(0)  # no further pages
    assert ({address.split("#")[0] for address in asked}, faults) == ({target.as_uri()}, [])


IDEOGRAPHS = "".join(chr(0x4E00 + number % 20_000) for number in range(3000)) + '\n"quoted"\t'


@pytest.mark.slow
@pytest.mark.parametrize(("words", "count"), [(IDEOGRAPHS * 200, 15), ('"\t' * 3_750_000, 3)], ids=["words", "quotes"])
def test_however_long_the_texts_are_no_task_is(page: Page, tmp_path: Path, words: str, count: int) -> None:
    turns = [{"role": ("assistant", "user")[at % 2], "content": words} for at in range(count)]
    with rolloupe.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="g", index=0, prompt="p", response=turns, reward=1.0)
        recorder.sample(step=0, group="g", index=1, prompt="p", response="word " * 600_000 + "end", reward=0.0)
    target = tmp_path / "r.html"
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert runs[0].report(target, SampleQuery()).size_bytes > 30_000_000

    def look() -> None:
        page.goto("about:blank")
        page.goto(target.as_uri())
        page.locator("article footer").wait_for(state="attached", timeout=60_000)

    def walk() -> None:
        for key, name in (("j", "/1"), ("k", "/0")):
            page.keyboard.press(key)
            page.get_by_role("heading", level=2, name=name).wait_for()
            page.locator("article footer").wait_for(state="attached", timeout=60_000)

    def choose() -> None:
        for wanted in ("needle", ""):
            page.get_by_role("searchbox").fill(wanted)
            expect(page.locator("nav li")).to_have_count(0 if wanted else 2)

    quick(page, "opening", look)
    assert page.evaluate("document.querySelector('article').textContent.length") > count * len(words)
    quick(page, "another sample and back", walk)
    quick(page, "words to choose by", choose)


def test_words_choose_samples_and_keys_walk_through_them(opened: Page) -> None:
    buttons = opened.get_by_role("navigation", name="Samples").get_by_role("button")
    assert buttons.count() == 3
    opened.keyboard.press("j")
    opened.get_by_role("heading", level=2, name="/1").wait_for()
    assert opened.url.endswith("%2F1")
    opened.get_by_role("searchbox").fill("needle")
    assert buttons.count() == 1
    opened.get_by_role("searchbox").fill("")
    opened.get_by_role("main").get_by_text("needle").first.wait_for()
    opened.reload()  # the address names the sample
    opened.get_by_role("heading", level=2, name="/1").wait_for()


def test_the_worst_samples_say_how_bad_they_are_and_open_at_the_token(page: Page, report: Path) -> None:
    target = report.parent / "worst.html"
    with rolloupe.open(report.parent / "run", index_dir=report.parent / "index") as runs:
        runs[0].report(target, SampleQuery(), worst=3, by="max_mismatch_kl")
        page.goto(target.as_uri())
        samples = page.get_by_role("navigation", name="Samples")
        expect(samples).to_contain_text("by Max mismatch KL (max_mismatch_kl)")
        button = samples.get_by_role("button").nth(1)
        assert re.match(r"max_mismatch_kl 0\.718\s.*reward \d · .*/1$", button.inner_text().replace("\n", " "))
        button.click()
        page.locator("[data-at='0'][class*=current]").wait_for()
        assert page.get_by_role("combobox", name="Colour").input_value() == "mismatch_kl"


def test_a_report_says_what_it_holds_and_opens_at_its_top(page: Page, short_grpo: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    page.set_viewport_size({"width": 1200, "height": 800})
    with rolloupe.open(short_grpo, index_dir=tmp_path / "index") as runs:
        runs[0].report(target, SampleQuery(splits=("train",), step_min=0, step_max=0), worst=40)
    page.goto(target.as_uri())
    page.locator("[class*=current][data-at]").wait_for()
    head = page.get_by_role("banner")
    expect(head).to_contain_text("Samples of tiny_grpo: train, step 0. The 16 worst of 160 samples. Made by")
    places = "[...document.querySelectorAll('html, body, main')].map((one) => one.scrollTop)"
    assert page.evaluate(places) == [0, 0, 0]
    assert page.evaluate("document.body.scrollHeight <= innerHeight")
    current = page.locator("[class*=current][data-at]")
    worst = current.get_attribute("data-at")
    page.keyboard.press("w")
    expect(current).not_to_have_attribute("data-at", str(worst))
    page.set_viewport_size({"width": 800, "height": 800})
    page.goto("about:blank")
    page.goto(f"{target.as_uri()}#%E0%A4%A")  # no sample has such a name
    page.get_by_role("heading", level=2).wait_for()
    page.locator("[data-at]").first.wait_for()
    assert page.evaluate(places) == [0, 0, 0]


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A report on a response beside that of a reference model."""
    run = tmp_path / "run"
    run.mkdir()
    pair = {"response": "The answer is 132, as it should be.", "ref_response": "The answer is 122, as it should be."}
    (run / "rank_0.jsonl").write_bytes(lines([{"step": 0, "prompt": "12 times 11?", "reward": 1.0, **pair}]))
    with rolloupe.open(run, index_dir=tmp_path / "index") as runs:
        runs[0].report(tmp_path / "r.html", SampleQuery())
    return tmp_path / "r.html"


def test_words_that_differ_from_the_reference_are_marked_without_a_worker(page: Page, compared: Path) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(compared.as_uri())
    expect(page.get_by_role("group", name="Reference")).to_contain_text("of the response is in both")
    main = page.get_by_role("main", name="Sample")
    expect(main.locator("ins").last).to_have_text("132")
    expect(main.locator("del").last).to_have_text("122")
    assert faults == []


def test_axe_finds_nothing(opened: Page) -> None:
    opened.evaluate(AXE.read_text())
    assert axe(opened, ("light", "dark")) == []
    opened.keyboard.press("t")
    opened.get_by_role("group", name="Tokens, by arrow keys").wait_for()
    assert axe(opened, ("light", "dark")) == []
    opened.get_by_role("group", name="Form").get_by_role("button", name="Update").click()
    opened.get_by_role("list", name="What the colours mean").wait_for()
    assert axe(opened, ("light", "dark")) == []
    opened.get_by_role("group", name="Form").get_by_role("button", name="Text").click()
    opened.set_viewport_size({"width": 900, "height": 700})
    opened.get_by_text("Worst tokens, rules and distribution").wait_for()
    expect(opened.locator("#worst")).to_have_count(1)  # below the choices, and no longer beside the tokens


@pytest.mark.slow
def test_a_report_opens_in_firefox(report: Path, compared: Path, tmp_path: Path) -> None:
    for file in (report, compared):
        line = [str(NODE), str(WALK), firefox(), file.as_uri(), ""]
        home = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=home)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"": []}


def test_a_file_weighs_what_its_numbers_and_texts_do(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    words = [f" {word}" for word in random.integers(0, 5000, TOKENS)]
    with rolloupe.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(
            step=0, prompt="p", response="".join(words), tokens=words, token_ids=random.integers(0, 150_000, TOKENS),
            series={name: -random.exponential(size=TOKENS) for name in RECORDED},
        )  # fmt: skip
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        done = runs[0].report(tmp_path / "r.html", SampleQuery())
        (item,) = runs[0].samples()
        series = token_page(runs[0].sample(item.key)).series
    text_bytes = len("".join(words).encode())
    assert done.tokens == TOKENS and len(series) > len(RECORDED)
    assert done.size_bytes == (tmp_path / "r.html").stat().st_size
    assert done.size_bytes <= 6 * TOKENS * len(series) + 1.2 * text_bytes + 500_000


@pytest.mark.slow
def test_an_alternative_of_a_token_weighs_as_much_as_a_value(tmp_path: Path) -> None:
    random, tokens, most = np.random.default_rng(7), 4096, 5
    words = [f" {word}" for word in random.integers(0, 5000, tokens)]
    sizes = []
    values = -random.exponential(size=(tokens, most))
    top = [list(zip(random.choice(words, most, replace=False), of_token, strict=True)) for of_token in values]
    for name, given in (("with", top), ("without", None)):
        with rolloupe.Recorder(tmp_path / name, code=None) as recorder:
            recorder.sample(
                step=0, prompt="p", response="".join(words), tokens=words, series={"logprobs": [-1.0] * tokens},
                top_logprobs=given,
            )  # fmt: skip
        with rolloupe.open(tmp_path / name, index_dir=tmp_path / "index") as runs:
            sizes.append(runs[0].report(tmp_path / f"{name}.html", SampleQuery()).size_bytes)
    assert 0 < sizes[0] - sizes[1] <= 6 * tokens * (most + 1) + 1.2 * sum(map(len, set(words)))  # the sampled one too
