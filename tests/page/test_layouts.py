"""The charts that a person chose, and what a person calls a run, in two browsers and after a restart of the viewer."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.everywhere import everything
from tests.page.support import Viewer, let_in

RUN = "runs/rich/metrics"


def opened(page: Page, viewer: Viewer) -> Page:
    """The page with the curves, let in."""
    page.set_viewport_size({"width": 1440, "height": 900})
    let_in(page, viewer)
    page.goto(viewer.to(RUN))
    expect(page.get_by_role("region", name="Reward by step").get_by_role("img")).to_be_visible()
    return page


def test_two_browsers_and_a_restart(page: Page, other: Page, every_run: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with everything(every_run, state) as viewer:
        for one in (opened(page, viewer), opened(other, viewer)):
            expect(one.get_by_role("checkbox", name="Truncated")).to_be_checked()
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        other.route("**/api/state", hold)
        with other.expect_request("**/api/state"):
            other.get_by_role("checkbox", name="Response tokens").uncheck()
        page.get_by_role("checkbox", name="Truncated").uncheck()
        expect(page.get_by_role("button", name="Layout of the charts")).to_contain_text("mine")
        expect(page.get_by_role("region", name="Truncated by step")).to_have_count(0)
        for route in held:
            route.continue_()
        other.unroute("**/api/state")

        both = other.get_by_role("dialog", name="Changed in two places")
        expect(both.get_by_role("region", name="There")).to_contain_text("Response tokens")
        expect(both.get_by_role("region", name="Here", exact=True)).not_to_contain_text("Response tokens")
        both.get_by_role("button", name="Keep theirs").click()
        for one in (page, other):
            expect(one.get_by_role("region", name="Response tokens by step")).to_be_visible()
            expect(one.get_by_role("region", name="Truncated by step")).to_have_count(0)
        other.get_by_role("checkbox", name="Response tokens").uncheck()
        expect(page.get_by_role("region", name="Response tokens by step")).to_have_count(0)
    with everything(every_run, state) as viewer:
        for one in (opened(page, viewer), opened(other, viewer)):
            expect(one.get_by_role("region", name="Truncated by step")).to_have_count(0)
            expect(one.get_by_role("region", name="Response tokens by step")).to_have_count(0)


def edit(page: Page, viewer: Viewer, name: str) -> None:
    """Open the name, the colour and the note of a run, in the table of runs."""
    let_in(page, viewer)
    page.goto(viewer.address)
    page.get_by_role("button", name=f"Name, colour and note of {name}", exact=True).click()


@pytest.mark.slow
def test_the_name_the_colour_and_the_note_of_a_run(page: Page, other: Page, every_run: Path, tmp_path: Path) -> None:
    with everything(every_run, tmp_path / "state") as viewer:
        for one in (page, other):
            edit(one, viewer, "rich")
        other.get_by_role("textbox", name="Note").fill("theirs")
        page.get_by_role("textbox", name="Note").fill("mine")
        page.get_by_role("button", name="violet").click()
        page.get_by_label("Name", exact=True).fill("baseline")
        with page.expect_response(lambda reply: "baseline" in (reply.request.post_data or "")):
            page.get_by_role("button", name="Back").click()
        expect(page.get_by_role("link", name="baseline", exact=True)).to_be_visible()
        other.get_by_label("Name", exact=True).focus()
        both = other.get_by_role("dialog", name="Changed in two places")
        expect(both.get_by_role("region", name="There")).to_contain_text("mine")
        both.get_by_role("button", name="Keep theirs").click()
    with everything(every_run, tmp_path / "state") as viewer:
        for one in (page, other):
            edit(one, viewer, "baseline")
            expect(one.get_by_role("textbox", name="Note")).to_have_value("mine")
            expect(one.get_by_role("button", name="violet")).to_have_attribute("aria-pressed", "true")
