"""Every state of the page from a telephone to a wall, and for those whom motion makes ill."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.page.everywhere import STATES, entered, everything
from tests.page.support import Viewer

pytestmark = pytest.mark.browser

WIDTHS = {360: 740, 768: 1024, 1280: 800, 1920: 1080, 3840: 2160}

BEYOND = """() => {
  const found = [];
  const named = e => `${e.tagName} ${e.getAttribute('class')} ${(e.ariaLabel ?? e.textContent).trim().slice(0, 40)}`;
  const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !e.closest('.hidden');
  for (const e of [document.documentElement, document.body]) if (e.scrollWidth > innerWidth) found.push('sideways');
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


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with everything(tmp_path_factory.mktemp("widths")) as viewer:
        yield viewer


def test_at_every_width_all_is_on_the_page_and_nothing_moves_unasked(browser: Browser, viewer: Viewer) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(viewer.link)
    wrong: dict[str, set[str]] = {}
    for state in STATES:
        with entered(page, viewer, state):
            for one in page.evaluate(MOTION):
                wrong.setdefault(one, set()).add(state.name)
            for width, height in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": height})
                page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                for one in page.evaluate(BEYOND):
                    wrong.setdefault(one, set()).add(f"{state.name} at {width}")
            page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("() => { document.querySelector('#app').style.width = '120vw'; }")
    assert page.evaluate(BEYOND) != [], "what looks for it can fail"
    context.close()
    assert wrong == {}
