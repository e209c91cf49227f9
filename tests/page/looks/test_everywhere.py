"""Every state of the page, from a telephone to a wall: all is on it, nothing moves, and axe finds nothing."""

from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.page.everywhere import State, entered, in_parts
from tests.page.support import Viewer
from tests.thoroughness import amount

pytestmark = pytest.mark.browser

WIDTHS = {360: 740, 768: 1024, 1280: 800, 1920: 1080, 3840: 2160}

BEYOND = """() => {
  const found = [];
  const named = e => `${e.tagName} ${e.getAttribute('class')} ${(e.ariaLabel ?? e.textContent).trim().slice(0, 40)}`;
  const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !e.closest('.hidden');
  for (const e of [document.documentElement, document.body]) {
    if (e.scrollWidth > innerWidth) found.push('sideways');
    e.scrollTop = 99;
    if (e.scrollTop > 0) found.push('the whole page scrolls, as scrollIntoView would scroll it');
    e.scrollTop = 0;
  }
  const scrolls = e => { // whether it can be brought into view
    for (let up = e.parentElement; up; up = up.parentElement) {
      const how = getComputedStyle(up).overflowX;
      if ((how === 'auto' || how === 'scroll') && up.scrollWidth > up.clientWidth) return true;
    }
    return false;
  };
  for (const e of document.querySelectorAll('a, button, input, select, textarea, summary, h1, h2, h3, p, dd, th, td')) {
    const {left, right, width} = e.getBoundingClientRect();
    const isBeyond = width > 0 && (left < -1 || right > innerWidth + 1);
    if (isBeyond && seen(e) && !scrolls(e)) found.push(`beyond the edge: ${named(e)}`);
  }
  for (const e of document.querySelectorAll('body *')) {
    const how = getComputedStyle(e);
    const isCutting = /hidden|clip/.test(how.overflowX) && how.textOverflow !== 'ellipsis';
    const isText = e.closest('svg, select, input, textarea') === null && how.clipPath === 'none'; // clipped: for ears
    if (isCutting && isText && e.scrollWidth > e.clientWidth + 1 && seen(e)) found.push(`cut off: ${named(e)}`);
  }
  return found;
}"""

MOTION = """() => {
  const long = times => times.split(',').some(time => parseFloat(time) > 0.01); // computed times are in seconds
  const moving = [...document.querySelectorAll('*')].filter(e => [null, '::before', '::after'].some(part => {
    const how = getComputedStyle(e, part);
    return long(how.transitionDuration) || long(how.animationDuration) || how.scrollBehavior === 'smooth';
  }));
  return [...moving.map(e => e.outerHTML.slice(0, 120)), ...document.getAnimations().map(one => `${one.id} runs`)];
}"""


AXE = Path(__file__).parents[3] / "web/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
"""What may differ from theme to theme. All else is asked once a width."""

RUN = """async ([tags, rules]) => {
  const only = rules ? {type: 'rule', values: rules} : {type: 'tag', values: tags};
  const found = await axe.run(document, {runOnly: only, resultTypes: ['violations']});
  const over = document.querySelector('[role=dialog], [role=menu], #filter-offers');
  const isUnder = ({target}) => over !== null && !over.contains(document.querySelector(target[0]));
  return found.violations.flatMap(({id, nodes}) => nodes
    .filter(node => id !== 'target-size' || !isUnder(node))
    .map(({target, html, failureSummary}) => `${id}: ${target.join(' ')} ${html.slice(0, 160)} ${failureSummary}`));
}"""
"""What lies under an open menu is pressed when the menu is gone, so half a button there is no small one."""

WITH_AXE = (360, 1280)

Theme = Literal["light", "dark"]


class Look(NamedTuple):
    """A width of the window, and the themes in which axe looks at the page then."""

    width: int
    themes: tuple[Theme, ...] = ()


LOOKS = tuple(Look(width, ("dark", "light") if width in WITH_AXE else ()) for width in WIDTHS)
"""All of them, for each state."""

TURNS = tuple((Look(width, (theme,)),) for theme in ("light", "dark") for width in WIDTHS)
"""One for each state, in turn, so that some state is looked at in each way."""


def looks(number: int) -> tuple[Look, ...]:
    """What is looked at in the state of that number."""
    return amount(TURNS[number % len(TURNS)], LOOKS)


@in_parts
def test_in_every_state_all_is_on_the_page_nothing_moves_and_axe_finds_nothing(
    page: Page, viewer: Viewer, states: tuple[State, ...]
) -> None:
    page.set_viewport_size({"width": 1280, "height": WIDTHS[1280]})
    page.emulate_media(reduced_motion="reduce")
    page.add_init_script(path=AXE)
    page.goto(viewer.link)
    expect(page.locator("main h1")).to_be_attached()
    page.evaluate("() => { document.querySelector('#app').style.width = '120vw'; }")
    assert page.evaluate(BEYOND) != [], "what looks for it can fail"
    page.evaluate("() => { document.querySelector('#app').style.width = ''; }")
    wrong: dict[str, set[str]] = {}
    for number, state in enumerate(states):
        with entered(page, viewer, state):
            for one in page.evaluate(MOTION):
                wrong.setdefault(one, set()).add(state.name)
            for width, themes in looks(number):
                page.set_viewport_size({"width": width, "height": WIDTHS[width]})
                # the page knows its new width
                page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                for one in page.evaluate(BEYOND) + axe(page, themes):
                    wrong.setdefault(one, set()).add(f"{state.name} at {width}")
            page.set_viewport_size({"width": 1280, "height": 800})
    assert wrong == {}


def axe(page: Page, themes: tuple[Theme, ...]) -> list[str]:
    """What axe has to say of the page as it stands: of all in the last of the themes, of colours in those before."""
    found: list[str] = []
    for number, theme in enumerate(themes, 1):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found += page.evaluate(RUN, [TAGS, None if number == len(themes) else COLOURS])
    return found
