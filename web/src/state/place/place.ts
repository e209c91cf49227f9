/** The place of the page: the address as a signal, and the ways to change it. */

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { format, moved, parse, type Place, START, WHOLE } from "../../lib/address/address";
import { isSame } from "../../lib/data/same";
import type { Session } from "../session";
import { Store } from "../store";

const BASE = new URL(".", document.baseURI).pathname;

/** The place that the address of the page describes. */
export function placeInAddress(): Place {
  const path = location.pathname;
  return parse(path.startsWith(BASE) ? path.slice(BASE.length) : path, location.search);
}

/** The step of an address if it is not a whole number; else empty. */
function unreadStep(query: string): string {
  const params = new URLSearchParams(query);
  const step = params.get("step") ?? "";
  return WHOLE.test(step) || params.has("sample") ? "" : step;
}

/** Moves of one kind within this time share an entry of the history. */
const LEAF_MS = 1500;

/** The kind of browsing: only another sample, or only another step; empty for anything else. */
function leafed(change: Partial<Place>): string {
  const keys = Object.keys(change);
  return keys.length === 1 && (keys[0] === "sample" || keys[0] === "step") ? (keys[0] ?? "") : "";
}

/** False for presses with other buttons and keys, which belong to the browser. */
export const isPlainPress = (event: MouseEvent): boolean =>
  event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

export class PlaceStore extends Store {
  readonly now = signal<Place>(START);

  /** The fields of the place, one by one: a component that reads only the page is not drawn again for each sample. */
  readonly field = Object.fromEntries(
    (Object.keys(this.now.peek()) as (keyof Place)[]).map((name) => [name, computed(() => this.now.value[name])]),
  ) as unknown as { readonly [Name in keyof Place]: ReadonlySignal<Place[Name]> };

  /** The words in place of a step in the address, until the reader goes elsewhere. */
  readonly unreadStep = signal("");

  /** An address that the page already shows. Setting it takes milliseconds, so it is set after the frame. */
  #late: { how: "push" | "replace"; address: string } | null = null;

  /**
   * The place that links start from. It also lags by a frame: it rewrites all links, and nobody follows a link sooner.
   */
  readonly #linked = signal<Place>(START);

  /** The place that links to samples start from: the same for all samples of a step, so that their links stay. */
  readonly #around = computed<Place>(() => {
    const next = { ...this.#linked.value, sample: null };
    return isSame(next, this.#aroundBefore) ? this.#aroundBefore : (this.#aroundBefore = next);
  });

  #aroundBefore = START;

  /** The step, a frame late, for what may follow the sample: the charts beside it. */
  readonly lateStep = computed(() => this.#linked.value.step);

  /** True if this session has the address of the page; of several sessions, only one has it. */
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

  /** Run a function before the page goes elsewhere. */
  onLeaving(listener: () => void): void {
    this.#leaving = listener;
  }

  /** Set the address now, if it is still due. */
  readonly settle = (): void => {
    if (this.#late === null) return;
    const { how, address } = this.#late;
    this.#late = null;
    this.#write(how, address);
    this.#linked.value = this.now.peek();
  };

  #write(how: "push" | "replace", address: string): void {
    if (!this.#isAddressed) return;
    try {
      if (how === "push") history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // Some browsers refuse frequent changes of the address; the page works without.
    }
  }

  #settleLater(how: "push" | "replace", address: string): void {
    if (this.#late === null) requestAnimationFrame(() => setTimeout(this.settle));
    this.#late = { how: this.#late?.how ?? how, address };
  }

  #lastLeaf = { what: "", at: -LEAF_MS };

  /**
   * Go somewhere. `replace` for the page's own choices, so that Back does not lead to an incomplete address; `late` for
   * moves that follow a slider.
   */
  go(change: Partial<Place>, how: "push" | "replace" | "late" = "push"): void {
    const next = moved(this.now.peek(), change);
    const address = BASE + format(next);
    if (address === (this.#late?.address ?? location.pathname + location.search)) how = "replace";
    // Browsing through any number of samples is one move: Back leads to its start.
    const isLeaf = leafed(change) !== "";
    const leaf = how === "push" ? leafed(change) : "";
    const { what, at } = this.#lastLeaf;
    const isSameMove = leaf !== "" && leaf === what && performance.now() - at < LEAF_MS;
    this.#lastLeaf = { what: leaf, at: performance.now() };
    const isNew = how === "push" && !isSameMove;
    if (isNew) {
      this.settle();
      this.#leaving();
      this.unreadStep.value = "";
    }
    if (how === "late" || isLeaf) this.#settleLater(isNew ? "push" : "replace", address);
    else {
      this.settle();
      this.#write(how, address);
    }
    this.now.value = next;
  }

  /** The address of a place, for links. */
  href(change: Partial<Place>): string {
    return BASE + format(moved(change.sample ? this.#around.value : this.#linked.value, change));
  }

  /** Make a link go there without reloading the page; other keys and buttons remain the browser's. */
  onLink(change: Partial<Place>): (event: MouseEvent) => void {
    return (event) => {
      if (!isPlainPress(event)) return;
      event.preventDefault();
      this.go(change);
    };
  }

  /** Take over the address and the history of the page. */
  start(): void {
    this.#isAddressed = true;
    this.unreadStep.value = unreadStep(location.search);
    addEventListener("pagehide", this.settle);
    document.addEventListener("visibilitychange", this.settle); // a hidden page paints no frame
    addEventListener("popstate", () => {
      this.#late = null;
      this.#lastLeaf = { what: "", at: -LEAF_MS }; // a place reached by Back begins a new move
      this.unreadStep.value = unreadStep(location.search); // the page's own choices replace the address at once
      this.now.value = placeInAddress();
    });
  }
}
