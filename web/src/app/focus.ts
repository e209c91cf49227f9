/**
 * Moves the focus when its element disappears, by its own press or by a key: to the element that replaces it, never to
 * nothing.
 */

const FOCUSABLE = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex="0"]';

/** The path up from the focused element: each ancestor, and the index of its child on the path. */
interface Way {
  ancestor: Element;
  child: number;
}

export function startFocus(): void {
  let current: Element | null = null;
  let ways: Way[] = [];
  let hasKeys = false;
  let card: Element | null = null;
  let isFromNowhere = false;
  addEventListener("keydown", () => (hasKeys = true), true);
  addEventListener("pointerdown", () => (hasKeys = false), true);
  addEventListener("focusin", (event) => {
    current = event.target instanceof Element ? event.target : null;
    ways = current === null ? [] : waysUp(current);
    const over = current?.closest("dialog") ?? null;
    if (over !== card) isFromNowhere = over !== null && event.relatedTarget === null;
    card = over;
  });
  const look = (): void => {
    if (current === null || current.isConnected) return;
    const from = ways;
    current = null;
    // A key opened this card while nothing had the focus. Afterwards nothing has it again, and keys still work.
    const isClosed = card !== null && !(card.isConnected && card.matches("[open]"));
    if (isClosed) card = null;
    if (isClosed && isFromNowhere) return;
    // The code that removed the element may move the focus itself.
    requestAnimationFrame(() => {
      if (hasKeys && (document.activeElement === null || document.activeElement === document.body))
        instead(from)?.focus({ preventScroll: true });
    });
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}

function waysUp(element: Element): Way[] {
  const ways: Way[] = [];
  for (let at = element; at.parentElement !== null && at !== document.body; at = at.parentElement) {
    ways.push({ ancestor: at.parentElement, child: [...at.parentElement.children].indexOf(at) });
  }
  return ways;
}

/** The focusable element in or next to the place of the lost one, in the nearest remaining ancestor. */
function instead(ways: readonly Way[]): HTMLElement | undefined {
  for (const { ancestor, child } of ways.filter((way) => way.ancestor.isConnected)) {
    const children = [...ancestor.children];
    const after = children.slice(child).flatMap(focusable);
    const before = children.slice(0, child).flatMap(focusable);
    const result = after[0] ?? before.at(-1);
    if (result !== undefined) return result;
  }
  return undefined;
}

function focusable(element: Element): HTMLElement[] {
  return [element, ...element.querySelectorAll(FOCUSABLE)].filter(
    (one): one is HTMLElement =>
      one instanceof HTMLElement &&
      one.matches(FOCUSABLE) &&
      one.tabIndex >= 0 &&
      one.checkVisibility({ visibilityProperty: true }),
  );
}
