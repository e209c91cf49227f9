"""Without a mouse: what can be pressed is reached by Tab or by the arrows of its list; focus is seen and never lost."""

import re
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.index.support import eventually
from tests.page.everywhere import ALIKE, RICH, STATES, State, entered
from tests.page.support import Viewer, go
from tests.thoroughness import amount, slow_unless

pytestmark = pytest.mark.browser

PRESSED = ("click", "dblclick", "mousedown", "pointerdown")
MANY = 400
"""More stops than any page has."""

ELSEWHERE = [
    "dialog",  # a press beside the card: Escape
    "svg[class*=spark]",  # the curve of steps: their field and their list beside it
    "svg[class*=chart] g",  # shares by step: the same
    "[class*=uplot] *, [class*=uplot]",  # the chart: the field of the step
    "button[class*=aside]",  # a group side by side, of a row: the key v
    "[role=cell][data-column]",  # a value in the table of runs: the link of its row
    "[class*=heat]",  # all tokens at once: the bars above it, by arrow keys
    "[class*=box]",  # a text that stays where it was put: not a press
]
"""What a mouse may press, with the keys that do the same."""

PARTS = 24

STOP = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const how = getComputedStyle(e), box = e.getBoundingClientRect();
  const isNew = !e.__reached;
  e.__reached = true;
  const y = box.top + Math.min(box.height, innerHeight) / 2, width = Math.min(box.width, innerWidth);
  const hits = [0.1, 0.5, 0.9].map(part => document.elementFromPoint(box.left + part * width, y));
  const isOther = hit => hit && !e.contains(hit) && !hit.contains(e) && !e.labels?.[0]?.contains(hit);
  const isOutlined = how.outlineStyle !== 'none' && parseFloat(how.outlineWidth) >= 2;
  const isOnScreen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0;
  return {
    isNew,
    name: `${e.tagName} ${e.ariaLabel ?? e.title ?? ''} ${(e.textContent ?? '').trim().slice(0, 30)}`,
    // the palette has one field, and its caret: an outline would say nothing more
    isSeen: isOnScreen && box.left < innerWidth && (isOutlined || e.matches('dialog [role=combobox]')),
    isCovered: hits.every(isOther),
  };
}"""

REACHED = """function (elsewhere) {
  const e = this instanceof Element ? this : null;
  if (e === null || e === document.body || e === document.documentElement) return null;
  if (!e.checkVisibility({visibilityProperty: true}) || elsewhere.some(one => e.matches(one))) return null;
  if (document.querySelector('dialog[open]') && !e.closest('dialog[open]')) return null;
  if (e.disabled || e.ariaDisabled === 'true' || e.closest('[inert]')) return null;
  const reached = one => one && (one.__reached || [...one.querySelectorAll('*')].some(inner => inner.__reached));
  if (e.__reached || reached(e.closest('label'))) return null;
  if (e.matches('li, tr, g, ul, ol, [role=presentation]') && reached(e)) return null;
  // one stop for a whole list, and its own keys from there on
  const list = e.closest('ul, ol, [role=grid], [role=listbox], [role=menu], [role=table], [role=group]');
  if (e.matches('[tabindex="-1"]') && reached(list)) return null;
  const box = e.closest('[role=listbox]');
  if (box !== null && document.querySelector(`[aria-controls="${box.id}"]`)?.__reached) return null;
  return e.outerHTML.slice(0, 200);
}"""


def walk(page: Page) -> list[str]:
    """Press Tab until every stop was come to; what is wrong with any of them."""
    wrong: list[str] = []
    page.evaluate("() => document.querySelectorAll('*').forEach(e => { delete e.__reached; })")
    stops = 0
    outside = 0
    while stops < MANY and outside < 4:
        stop: dict[str, Any] | None = page.evaluate(STOP)
        if stop is None:
            outside += 1
        elif not stop["isNew"]:
            break
        else:
            stops += 1
            wrong += [f"{stop['name']}: the focus is not seen"] * (not stop["isSeen"])
            wrong += [f"{stop['name']}: lies under something"] * stop["isCovered"]
        page.keyboard.press("Tab")
    assert 0 < stops < MANY
    return wrong


def missed(session: CDPSession) -> list[str]:
    """What listens to a press and was not come to."""
    document = session.send("Runtime.evaluate", {"expression": "document"})["result"]["objectId"]
    found = session.send("DOMDebugger.getEventListeners", {"objectId": document, "depth": -1, "pierce": False})
    nodes = {one["backendNodeId"] for one in found["listeners"] if one["type"] in PRESSED and "backendNodeId" in one}
    wrong = []
    for node in nodes:
        held = session.send("DOM.resolveNode", {"backendNodeId": node})["object"]["objectId"]
        answer = session.send(
            "Runtime.callFunctionOn",
            {
                "objectId": held,
                "functionDeclaration": REACHED,
                "arguments": [{"value": ELSEWHERE}],
                "returnByValue": True,
            },
        )
        if (value := answer["result"].get("value")) is not None:
            wrong.append(f"never reached: {value}")
    assert nodes
    return wrong


@pytest.mark.parametrize("states", [slow_unless(part == 3, STATES[part::PARTS]) for part in range(PARTS)])
def test_tab_comes_to_everything_that_can_be_pressed(wide: Page, viewer: Viewer, states: tuple[State, ...]) -> None:
    session = wide.context.new_cdp_session(wide)
    wrong: dict[str, set[str]] = {}
    assert {state.name for state in STATES} >= ALIKE
    for state in states:
        if state.name in ALIKE:
            continue
        found: set[str] | None = None
        for _ in range(2):  # what came while one walked is looked at again
            with entered(wide, viewer, state):
                again = {*walk(wide), *missed(session)}
            found = again if found is None else found & again
            if not found:
                break
        for one in found or ():
            wrong.setdefault(one, set()).add(state.name)
    assert wrong == {}


LOSSES: tuple[tuple[str, str, str], ...] = (
    (RICH, "Hide the list", "Show the list of samples"),
    (RICH, "Show the list of samples", ""),
    (RICH, "Hide the charts", "Show the charts"),
    (RICH, "Show the charts", ""),
    (f"{RICH}&where=reward+%3C+0.5", "Clear the filter", "Filter"),
    (f"{RICH}&q=eleven", "Unmark", ""),
    (f"{RICH}&over=toy", "Remove toy from the chart", ""),
    (RICH, "Last step", "Last step"),
    (RICH, "Next sample", "Next sample"),
    (RICH, "Write a note", "Note on this sample"),
    ("", "Name, colour and note of rich", ""),
)
"""Where, what is pressed, and what has the focus then; empty for anything but nothing."""


def focus(page: Page) -> str:
    """What has the focus, by name; empty where nothing has."""
    named: str = page.evaluate(
        """() => {
          const e = document.activeElement;
          if (!e || e === document.body) return '';
          return (e.getAttribute('aria-label') || e.textContent || e.title || '').trim() || e.tagName;
        }"""
    )
    return named


def has_focus(page: Page, name: str) -> bool:
    """Whether something has the focus whose name begins so."""
    return focus(page) != "" and focus(page).startswith(name)


def test_a_press_never_loses_the_focus(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address)
    for address, name, then in amount(LOSSES[4::2], LOSSES):
        go(wide, viewer, address)
        wide.get_by_role("button", name=name).first.press("Enter")
        eventually(partial(has_focus, wide, then))
    over = wide.locator("[role=dialog]:visible, [role=menu]:visible, #filter-offers, dialog[open]")
    closing = [state for state in STATES if state.closes is not None]
    for state in amount(closing[-1:], closing):
        with entered(wide, viewer, state):
            assert focus(wide) != "", state.name
            wide.keyboard.press("Escape")
            expect(over).to_have_count(0)
            eventually(partial(has_focus, wide, state.closes or ""))


@pytest.mark.slow
def test_keys_go_on_after_a_card_that_a_key_opened_and_where_an_edge_has_the_focus(wide: Page, viewer: Viewer) -> None:
    """A card opened from nowhere gives the focus back to nowhere; an edge of a pane takes its arrows alone."""
    wide.goto(viewer.address)
    for key in ("?", "Control+k"):
        go(wide, viewer, RICH)
        wide.get_by_role("main", name="Sample").get_by_role("heading").first.wait_for()
        assert focus(wide) == ""
        wide.keyboard.press(key)
        card = wide.locator("dialog[open]")
        expect(card).to_have_count(1)
        wide.keyboard.press("Escape")
        expect(card).to_have_count(0)
        # As long as it takes to find another place for the focus.
        wide.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert focus(wide) == "", key
        wide.keyboard.press("v")
        expect(wide).to_have_url(re.compile("view=group"))
    go(wide, viewer, RICH)
    wide.get_by_role("separator", name="Width of the charts").press("v")
    expect(wide).to_have_url(re.compile("view=group"))
