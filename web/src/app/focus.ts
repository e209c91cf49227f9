/**
 * Where the focus goes when what had it is taken away, by its own press or by a key: to what takes its place, never to
 * nowhere.
 */

const FOCUSABLE = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex="0"]';

/** Ways up from what has the focus: each ancestor, and which of its children it was in. */
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
    // A card that a key opened while nothing had the focus: nothing has it again, and keys go on as before.
    const isClosed = card !== null && !(card.isConnected && card.matches("[open]"));
    if (isClosed) card = null;
    if (isClosed && isFromNowhere) return;
    // Whoever took it away may give the focus a place of its own.
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

/** What stands where the lost one stood, or next to it, in the nearest ancestor that is still there. */
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
