"""Findings in a real browser: cards, their samples with the marked places, and what a person sets aside."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rolloupe.demo import RUNS
from tests.index.support import eventually
from tests.insight.findings.planted import Plan, write_run
from tests.page.support import let_in, viewing

pytestmark = pytest.mark.browser

MARKED = """() => [...(CSS.highlights.get('search') ?? [])].map(range => range.toString())"""


def test_a_finding_opens_its_samples_with_marks_and_is_set_aside(page: Page, tmp_path: Path) -> None:
    write_run(tmp_path / "run", Plan(steps=24, groups=12, bonus=0.6, prevalence=0.7, hacks=("tag",)))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as viewer:
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
            re.compile(r"could have shown is 0?\.\d+ reward")
        )
        expect(page).to_have_url(re.compile("to=2"))
        page.go_back()
        expect(card).to_be_visible()

        # the sample has the same marks
        first.get_by_role("link").press("Enter")
        expect(page.get_by_role("group", name="Search")).to_contain_text(" place")
        eventually(lambda: page.evaluate(MARKED) and {*page.evaluate(MARKED)} <= {*marked})
        page.go_back()

        # what is no hack counts no longer, in any window
        card.get_by_role("button", name="Not a hack").click()
        page.get_by_role("textbox", name="Why it is not a hack").fill("The prompt asks for it")
        page.get_by_role("textbox", name="Your name").fill("Ada")
        page.get_by_role("textbox", name="Your name").press("Enter")
        expect(count).not_to_have_attribute("data-badge", "1")
        page.goto(here)
        expect(page.get_by_role("region", name="Not a hack")).to_contain_text("The prompt asks for itAda, ")
        expect(card).to_have_count(0)


@pytest.mark.slow
def test_repetition_is_the_only_suspect_of_the_demo_run(page: Page, tmp_path: Path) -> None:
    with viewing(RUNS / "tiny_grpo", index_dir=tmp_path / "index", settled=True) as viewer:
        let_in(page, viewer)
        page.goto(f"{viewer.address}runs/tiny_grpo/findings")
        suspect = page.locator("article[data-class=suspect]")
        expect(suspect).to_have_count(1, timeout=30_000)
        expect(suspect.get_by_role("heading")).to_contain_text("The same sentence repeated earns")
        suspect.get_by_role("region").first.get_by_role("link").click()
        bar = page.get_by_role("group", name="Search")
        expect(bar).to_contain_text(re.compile(r"1 of [2-9] places"))
        eventually(lambda: len(page.evaluate(MARKED)) >= 2)
        assert all(one.startswith("Check: ") for one in page.evaluate(MARKED))
