"""Findings in a real browser: cards, their samples with the marked places, and what a person sets aside."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import rolloupe
from rolloupe.api.arguments import sample_query
from rolloupe.demo import RUNS
from tests.index.support import eventually
from tests.insight.findings.planted import Plan, write_run
from tests.page.support import let_in, viewing

pytestmark = pytest.mark.browser

MARKED = """() => [...(CSS.highlights.get('search') ?? [])].map(range => range.toString())"""


@pytest.fixture(scope="module")
def hacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in which a tag earns, and of its index, which is made once."""
    folder = tmp_path_factory.mktemp("hacked")
    write_run(folder / "run", Plan(steps=24, groups=12, bonus=0.6, prevalence=0.7, hacks=("tag",)))
    return folder


def test_a_finding_opens_its_samples_with_marks_and_is_set_aside(page: Page, hacked: Path, tmp_path: Path) -> None:
    state_dir = str(tmp_path / "state")
    with viewing(hacked / "run", index_dir=hacked / "index", state_dir=state_dir, settled=True) as viewer:
        let_in(page, viewer)
        page.goto(f"{viewer.address}runs/run")
        count = page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile("^Findings"))
        expect(count).to_have_attribute("data-badge", "1")
        count.click()
        expect(page).to_have_url(re.compile("/runs/run/findings"))
        card = page.get_by_role("article")
        expect(card).to_have_attribute("data-class", "suspect")
        expect(card.get_by_role("heading")).to_contain_text("<verified>")
        first, second = (card.get_by_role("region").nth(n) for n in (0, 1))
        expect(first).to_contain_text(re.compile("marked [1-9].*<verified>ok</verified>", re.DOTALL))
        expect(second).not_to_contain_text("<verified>")
        marked = page.evaluate(MARKED)
        assert any("verified" in one or "ok" in one for one in marked)
        here = page.url

        # from a window without findings a link leads to the card
        page.get_by_role("textbox", name="Last step").fill("2")
        page.get_by_role("textbox", name="Last step").press("Enter")
        expect(page.get_by_role("status").filter(has_text="Nothing above threshold")).to_contain_text(
            re.compile(r"each use earned at least 0?\.\d+ reward")
        )
        expect(page).to_have_url(re.compile("to=2"))
        page.go_back()
        expect(card).to_be_visible()

        # the sample has the same marks
        first.get_by_role("link").press("Enter")
        expect(page.get_by_role("group", name="Search")).to_contain_text(" place")
        eventually(lambda: page.evaluate(MARKED) and {*page.evaluate(MARKED)} <= {*marked})
        page.go_back()

        # what is not a hack counts no longer, in any window
        card.get_by_role("button", name="Not a hack").click()
        page.get_by_role("textbox", name="Why it is not a hack").fill("The prompt asks for it")
        page.get_by_role("textbox", name="Your name").fill("Ada")
        page.get_by_role("textbox", name="Your name").press("Enter")
        expect(count).not_to_have_attribute("data-badge", "1")
        page.goto(here)
        expect(page.get_by_role("region", name="Not a hack")).to_contain_text("The prompt asks for itAda, ")
        expect(card).to_have_count(0)


def test_a_report_has_findings_and_lint_with_links_to_its_samples(page: Page, hacked: Path, tmp_path: Path) -> None:
    with rolloupe.open(hacked / "run", index_dir=hacked / "index", state_dir=tmp_path / "state") as runs:
        (one,) = runs[0].findings().findings
        group = runs[0].sample(one.samples.ids()[0]).key.group
        query = sample_query(where=f"group = '{group}'")
        runs[0].report(tmp_path / "with.html", query, findings=True)
        runs[0].report(tmp_path / "without.html", query)
        runs[0].set_finding_aside(one.phrase, why="asked for")
        runs[0].report(tmp_path / "aside.html", query, findings=True)
    page.goto((tmp_path / "with.html").as_uri())
    page.get_by_text("1 finding, no broken rule").click()
    shown = page.get_by_role("group").filter(has_text="1 finding")
    expect(shown).to_contain_text(f"suspect {one.text}")
    expect(shown).to_contain_text("Scanned 2,304 samples")
    expect(shown).to_contain_text("What each part pays for")
    shown.get_by_role("button").first.click()
    expect(page.get_by_role("main").get_by_role("heading", level=2)).to_have_attribute("title", re.compile("train/"))
    assert page.url.split("#")[1].replace("%2F", "/") in one.samples.ids()
    page.goto((tmp_path / "aside.html").as_uri())
    page.get_by_text("0 findings, no broken rule").click()
    expect(page.get_by_role("banner")).to_contain_text("Not a hack: ")
    page.goto((tmp_path / "without.html").as_uri())
    page.get_by_role("navigation", name="Samples").get_by_role("button").first.wait_for()
    assert page.get_by_text("no broken rule").count() == 0
    assert (tmp_path / "with.html").stat().st_size < (tmp_path / "without.html").stat().st_size + 8_000


@pytest.mark.slow
def test_repetition_is_the_only_suspect_of_the_demo_run(page: Page, tmp_path: Path) -> None:
    with viewing(RUNS / "tiny_grpo", index_dir=tmp_path / "index", settled=True) as viewer:
        let_in(page, viewer)
        page.goto(f"{viewer.address}runs/tiny_grpo/findings")
        suspect = page.locator("article[data-class=suspect]")
        expect(suspect).to_have_count(1, timeout=30_000)
        expect(suspect.get_by_role("heading")).to_contain_text("The same sentence repeated earns")

        # its address scrolls its pane, and never the whole page
        page.goto(f"{viewer.address}runs/tiny_grpo/findings?finding=derived.repeated_sentences")
        eventually(lambda: suspect.evaluate("card => Math.abs(card.getBoundingClientRect().top - 44)") < 12)
        assert page.get_by_role("banner").evaluate("bar => bar.getBoundingClientRect().top") == 0
        suspect.get_by_role("region").first.get_by_role("link").click()
        bar = page.get_by_role("group", name="Search")
        expect(bar).to_contain_text(re.compile(r"1 of [2-9] places"))
        eventually(lambda: len(page.evaluate(MARKED)) >= 2)
        assert all(one.startswith("Check: ") for one in page.evaluate(MARKED))
