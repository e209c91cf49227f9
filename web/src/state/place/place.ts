/** Where the page is: the address as a signal, and the ways to change it. */

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { format, moved, parse, type Place, START } from "../../lib/address/address";
import type { Session } from "../session";
import { Store } from "../store";

const BASE = new URL(".", document.baseURI).pathname;

/** What the address of the page says. */
export function placeInAddress(): Place {
  const path = location.pathname;
  return parse(path.startsWith(BASE) ? path.slice(BASE.length) : path, location.search);
}

/** Moves of one kind that follow each other within this are one entry of the history. */
const LEAF_MS = 1500;

/** What kind of leafing a change is: only another sample, or only another step; empty for anything else. */
function leafed(change: Partial<Place>): string {
  const keys = Object.keys(change);
  return keys.length === 1 && (keys[0] === "sample" || keys[0] === "step") ? (keys[0] ?? "") : "";
}

/** False for presses with other buttons and keys, which are the browser's. */
export const isPlainPress = (event: MouseEvent): boolean =>
  event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

export class PlaceStore extends Store {
  readonly now = signal<Place>(START);

  /**
   * The fields of the place, one by one: who reads only the page is not drawn again with every sample that is leafed
   * past.
   */
  readonly field = Object.fromEntries(
    (Object.keys(this.now.peek()) as (keyof Place)[]).map((name) => [name, computed(() => this.now.value[name])]),
  ) as unknown as { readonly [Name in keyof Place]: ReadonlySignal<Place[Name]> };

  /** The address of a place that the page shows already. Setting it takes milliseconds, so it is set after the frame. */
  #late: string | null = null;

  /**
   * The place that links lead on from. It lags behind a frame too: all links are written anew with it, and nobody follows
   * one sooner.
   */
  readonly #linked = signal<Place>(START);

  /** True once the address of the page is this session's: of several on a page, one has it. */
  #isAddressed = false;

  #leaving: () => void = () => undefined;

  constructor(session: Session, at: Place) {
    super(session);
    this.now.value = at;
    this.effect(() => {
      const here = this.now.value;
      if (this.#late === null) this.#linked.value = here;
    });
  }

  /** Have something done before the page goes somewhere else. */
  onLeaving(listener: () => void): void {
    this.#leaving = listener;
  }

  /** Set the address now, if that still has to be done. */
  readonly settle = (): void => {
    if (this.#late === null) return;
    const address = this.#late;
    this.#late = null;
    this.#write("replace", address);
    this.#linked.value = this.now.peek();
  };

  #write(how: "push" | "replace", address: string): void {
    if (!this.#isAddressed) return;
    try {
      if (how === "push") history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // Some browsers refuse more than so many changes of the address in a while; the page goes on without.
    }
  }

  #settleLater(address: string): void {
    if (this.#late === null) requestAnimationFrame(() => setTimeout(this.settle));
    this.#late = address;
  }

  #lastLeaf = { what: "", at: -LEAF_MS };

  /** Go somewhere. `replace` for what the page chose by itself, so that Back does not lead to a half address. */
  go(change: Partial<Place>, how: "push" | "replace" = "push"): void {
    const next = moved(this.now.peek(), change);
    const address = BASE + format(next);
    if (address === (this.#late ?? location.pathname + location.search)) how = "replace";
    // Leafing is one way, however many samples it passes: Back leads to where it began.
    const leaf = how === "push" ? leafed(change) : "";
    if (leaf !== "" && leaf === this.#lastLeaf.what && performance.now() - this.#lastLeaf.at < LEAF_MS) {
      this.#lastLeaf = { what: leaf, at: performance.now() };
      this.#settleLater(address);
      this.now.value = next;
      return;
    }
    this.#lastLeaf = { what: leaf, at: performance.now() };
    this.settle();
    if (how === "push") this.#leaving();
    this.#write(how, address);
    this.now.value = next;
  }

  /** The address of somewhere, for links. */
  href(change: Partial<Place>): string {
    return BASE + format(moved(this.#linked.value, change));
  }

  /** Make a link go there without loading the page again; other keys and buttons stay the browser's. */
  onLink(change: Partial<Place>): (event: MouseEvent) => void {
    return (event) => {
      if (!isPlainPress(event)) return;
      event.preventDefault();
      this.go(change);
    };
  }

  /** Take part in the address and the history of the page. */
  start(): void {
    this.#isAddressed = true;
    addEventListener("pagehide", this.settle);
    document.addEventListener("visibilitychange", this.settle); // a page that is not seen paints no frame
    addEventListener("popstate", () => {
      this.#late = null;
      this.#lastLeaf = { what: "", at: -LEAF_MS }; // what was come back to is an end of its own
      this.now.value = placeInAddress();
    });
  }
}
