"""axe looks at every state of the page, in both themes, wide and narrow, and finds nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.page.everywhere import STATES, entered, everything
from tests.page.support import Viewer

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
"""What may differ from theme to theme. All else is asked once a width."""

RUN = """async ([tags, rules]) => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));  // the page knows its new width
  const only = rules ? {type: 'rule', values: rules} : {type: 'tag', values: tags};
  const found = await axe.run(document, {runOnly: only, resultTypes: ['violations']});
  const over = document.querySelector('[role=dialog], [role=menu], #filter-offers');
  const isUnder = ({target}) => over !== null && !over.contains(document.querySelector(target[0]));
  return found.violations.flatMap(({id, nodes}) => nodes
    .filter(node => id !== 'target-size' || !isUnder(node))
    .map(({target, html, failureSummary}) => `${id}: ${target.join(' ')} ${html.slice(0, 160)} ${failureSummary}`));
}"""
"""What lies under an open menu is pressed when the menu is gone, so half a button there is no small one."""


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with everything(tmp_path_factory.mktemp("access")) as viewer:
        yield viewer


def test_axe_finds_nothing_anywhere(browser: Browser, viewer: Viewer) -> None:
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script(path=AXE)
    page = context.new_page()
    page.goto(viewer.link)
    wrong: dict[str, set[str]] = {}
    for state in STATES:
        page.set_viewport_size({"width": 1440, "height": 900})
        with entered(page, viewer, state):
            for width in (1440, 360):
                page.set_viewport_size({"width": width, "height": 900})
                for theme in ("light", "dark"):
                    for one in looked_at(page, theme):
                        wrong.setdefault(one, set()).add(f"{state.name}, {theme}, {width}")
    context.close()
    assert wrong == {}


def looked_at(page: Page, theme: Literal["light", "dark"]) -> list[str]:
    """What axe has to say of the page as it stands."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    found: list[str] = page.evaluate(RUN, [TAGS, COLOURS if theme == "dark" else None])
    return found
