/**
 * The small menu of a value: filter by it, or exclude it. `offerFilter` of `state/list/filter.ts` opens it from
 * anywhere.
 */

import { useSession } from "../../../state/useSession";
import { useLayoutEffect, useRef } from "preact/hooks";
import style from "./ValueMenu.module.css";

const EDGE_PX = 8;

export function ValueMenu() {
  const session = useSession();
  const menu = useRef<HTMLDivElement>(null);
  const offer = session.filter.offer.value;

  const close = (): void => {
    const from = session.filter.offer.peek()?.from;
    session.filter.offer.value = null;
    const back = from?.closest<HTMLElement>("a, button, [tabindex]");
    back?.focus({ preventScroll: true });
  };

  useLayoutEffect(() => {
    // before the menu is painted, so that no scroll event is missed
    if (offer === null) return undefined;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !menu.current?.contains(event.target)) session.filter.offer.value = null;
    };
    const dismiss = (): void => {
      session.filter.offer.value = null;
    };
    addEventListener("pointerdown", outside);
    addEventListener("wheel", dismiss, { passive: true });
    addEventListener("resize", dismiss);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("wheel", dismiss);
      removeEventListener("resize", dismiss);
    };
  }, [session, offer]);

  useLayoutEffect(() => {
    const element = menu.current;
    if (element === null || offer === null) return;
    const { width, height } = element.getBoundingClientRect();
    const isBelow = offer.at.bottom + 4 + height < innerHeight;
    element.style.left = `${Math.max(EDGE_PX, Math.min(offer.at.left, innerWidth - width - EDGE_PX))}px`;
    element.style.top = `${isBelow ? offer.at.bottom + 4 : Math.max(EDGE_PX, offer.at.top - height - 4)}px`;
    element.querySelector<HTMLElement>("button")?.focus();
  }, [offer]);

  if (offer === null) return null;
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(menu.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = buttons.findIndex((button) => button === document.activeElement);
    if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp") buttons.at(at - 1)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section aria-label={`Filter by ${offer.column}`}>
      <div
        ref={menu}
        class={style["menu"]}
        role="menu"
        aria-label={`Filter by ${offer.column}`}
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        {session.filter.choices(offer).map(({ words, where }) => (
          <button
            key={words}
            type="button"
            role="menuitem"
            class={style["choice"]}
            title={where}
            onClick={() => {
              close();
              session.filter.filterBy(where);
            }}
          >
            {words}
          </button>
        ))}
      </div>
    </section>
  );
}
