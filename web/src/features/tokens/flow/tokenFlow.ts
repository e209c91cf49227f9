/**
 * Draws the tokens of a sample as flowing text, without a component for each. Chunks of tokens get their elements when
 * they come near the screen, and only those near it are painted again when colours change.
 */

import { cutsOf, type Segment } from "../../../lib/tokens/sample/segments";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { count } from "../../../lib/numbers/numbers";
import type { Paint } from "./paint";
import { AT, chip, meanLength } from "./pieces";
import style from "./Flow.module.css";

export interface Stretches {
  segments?: readonly Segment[];
  marked?: number | null;
}

interface Chunk {
  from: number;
  stop: number;
  element: HTMLElement;
  /** The number of its elements before those of tokens. */
  before: number;
  isNear: boolean;
  /** The number of the paint that its tokens show; 0 without elements. */
  painted: number;
}

interface Section {
  segment: Segment;
  element: HTMLElement;
  button: HTMLButtonElement | null;
  isOpen: boolean;
  /** Empty until the section is open for the first time. */
  chunks: Chunk[];
}

/** Chunks within this distance of the screen are drawn. */
const NEAR_PX = 1200;
/** The most chunks to draw in a frame. */
const CHUNKS_OF_FRAME = 3;
const CHAR_PX = 7.2;
const LINE_PX = 26;
const FIRST = style["first"] ?? "first";
const SECOND = style["second"] ?? "second";

export class TokenFlow {
  readonly #host: HTMLElement;
  readonly #tokens: TokenSample;
  readonly #marked: number | null;
  #paint: Paint;
  #round = 1;
  readonly #sections: Section[];
  readonly #chunkOf = new Map<Element, Chunk>();
  readonly #observer: IntersectionObserver;
  readonly #charsOfToken: number;
  /** Chunks near the screen that are not drawn yet. */
  readonly #due = new Set<Chunk>();
  #frame = 0;

  /** `stretches` replace those of the tokens; one token may be marked. */
  constructor(
    host: HTMLElement,
    scroller: HTMLElement,
    tokens: TokenSample,
    paint: Paint,
    { segments = tokens.segments, marked = null }: Stretches = {},
  ) {
    this.#host = host;
    this.#marked = marked;
    this.#tokens = tokens;
    this.#paint = paint;
    this.#charsOfToken = meanLength(tokens);
    this.#observer = new IntersectionObserver((entries) => this.#seen(entries), {
      root: scroller,
      rootMargin: `${NEAR_PX}px 0px`,
    });
    const isModelThere = tokens.segments.some(({ isModel }) => isModel);
    this.#sections = segments.map((segment) => this.#section(segment, segment.isModel || !isModelThere));
    host.replaceChildren(...this.#sections.map(({ element }) => element));
    this.#fill(this.#sections.filter(({ isOpen }) => isOpen));
    for (const chunk of [...this.#chunkOf.values()].slice(0, CHUNKS_OF_FRAME)) this.#draw(chunk); // seen a frame later
  }

  /** Change the paint of tokens: near the screen now, elsewhere when they come near. */
  repaint(paint: Paint): void {
    this.#paint = paint;
    this.#round += 1;
    for (const chunk of this.#chunkOf.values()) if (chunk.isNear) this.#draw(chunk);
  }

  /** Open or fold all sections that can be folded. */
  turnAll(isOpen: boolean): void {
    const foldable = this.#sections.filter(({ button }) => button !== null);
    this.#turn(foldable, isOpen);
  }

  /** The element of a token, which is drawn first if it has none; null outside the sample. */
  elementOf(token: number): HTMLElement | null {
    const section = this.#sections.find(({ segment }) => segment.from <= token && token < segment.stop);
    if (section === undefined) return null;
    this.#turn([section], true);
    const chunk = section.chunks.find(({ from, stop }) => from <= token && token < stop);
    if (chunk !== undefined) this.#draw(chunk);
    return this.shown(token);
  }

  /** The element of a token if it is on the page; opens nothing. */
  shown(token: number): HTMLElement | null {
    const open = this.#sections.find(({ isOpen, chunks }) => isOpen && (chunks.at(-1)?.stop ?? 0) > token);
    const chunk = open?.chunks.find(({ from, stop }) => from <= token && token < stop);
    const element = chunk?.element.children[token - chunk.from + chunk.before];
    return element instanceof HTMLElement ? element : null;
  }

  /** The token closest to a place, on the line next to a token. */
  beside(token: number, way: 1 | -1): number {
    const here = this.elementOf(token)?.getBoundingClientRect();
    if (here === undefined) return token;
    const middle = (here.left + here.right) / 2;
    let best = { token, far: Infinity, top: NaN };
    for (let other = token + way; other >= 0 && other < this.#tokens.count; other += way) {
      const box = (this.#isDrawn(other) ? this.elementOf(other) : null)?.getClientRects()[0];
      if (box === undefined) continue;
      if (Math.abs(box.top - here.top) < LINE_PX / 2) continue;
      if (!Number.isNaN(best.top) && Math.abs(box.top - best.top) >= LINE_PX / 2) break;
      const far = Math.abs((box.left + box.right) / 2 - middle);
      if (far < best.far) best = { token: other, far, top: box.top };
    }
    return best.token;
  }

  /** The next token that is not folded. */
  following(token: number, way: 1 | -1): number {
    for (let other = token + way; other >= 0 && other < this.#tokens.count; other += way)
      if (this.#isDrawn(other)) return other;
    return token;
  }

  /** The first or the last token that is not folded. */
  outermost = (way: 1 | -1): number => this.following(way === -1 ? -1 : this.#tokens.count, way === -1 ? 1 : -1);

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#observer.disconnect();
    this.#host.replaceChildren();
  }

  #isDrawn(token: number): boolean {
    return this.#sections.some(({ segment, isOpen }) => isOpen && segment.from <= token && token < segment.stop);
  }

  #section(segment: Segment, isOpen: boolean): Section {
    const element = document.createElement("div");
    element.className = style["section"] ?? "";
    const section: Section = { segment, element, button: null, isOpen, chunks: [] };
    if (segment.isModel) return section;
    const button = document.createElement("button");
    button.type = "button";
    button.className = style["fold"] ?? "";
    button.addEventListener("click", () => this.#turn([section], !section.isOpen));
    section.button = button;
    element.append(button);
    this.#label(section);
    return section;
  }

  #label({ button, element, segment, isOpen }: Section): void {
    element.dataset["folded"] = String(button !== null && !isOpen);
    if (button === null) return;
    const tokens = count(segment.stop - segment.from, "token");
    button.replaceChildren(chip(segment.role), isOpen ? tokens : `${tokens} folded`);
    button.setAttribute("aria-expanded", String(isOpen));
    button.title = isOpen ? "Fold these tokens" : "Show these tokens";
  }

  #turn(sections: readonly Section[], isOpen: boolean): void {
    const others = sections.filter((section) => section.isOpen !== isOpen);
    for (const section of others) {
      section.isOpen = isOpen;
      this.#label(section);
    }
    if (isOpen) this.#fill(others.filter(({ chunks }) => chunks.length === 0));
    for (const { chunks } of others) for (const { element } of chunks) element.hidden = !isOpen;
  }

  #fill(sections: readonly Section[]): void {
    if (sections.length === 0) return;
    // Once for all chunks: after each change, reading a width lays out the whole page.
    const width = Math.max(200, this.#host.clientWidth);
    for (const section of sections) this.#fillOne(section, width);
  }

  #fillOne(section: Section, width: number): void {
    const { from, stop } = section.segment;
    const cuts = cutsOf(from, stop, (token) => this.#tokens.endsLine(token));
    for (let i = 0; i + 1 < cuts.length; i += 1) {
      const [begin = 0, end = 0] = [cuts[i], cuts[i + 1]];
      const element = document.createElement("div");
      element.className = style["chunk"] ?? "";
      const height = Math.ceil(((end - begin) * this.#charsOfToken * CHAR_PX) / width) * LINE_PX;
      element.style.minHeight = `${height}px`;
      element.style.containIntrinsicHeight = `auto ${height}px`;
      const chunk = { from: begin, stop: end, element, before: 0, isNear: false, painted: 0 };
      section.chunks.push(chunk);
      this.#chunkOf.set(element, chunk);
      this.#observer.observe(element);
    }
    section.element.append(...section.chunks.map(({ element }) => element));
    const [first] = section.chunks;
    if (first === undefined || !section.segment.isModel) return;
    first.element.append(chip(section.segment.role));
    first.before = 1;
  }

  #seen(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const chunk = this.#chunkOf.get(target);
      if (chunk === undefined) continue;
      chunk.isNear = isIntersecting;
      if (isIntersecting) this.#due.add(chunk);
      else this.#due.delete(chunk);
    }
    this.#drawDue();
  }

  /** Draw some of the chunks that came near, and the others in the next frames: a fast scroll skips most of them. */
  readonly #drawDue = (): void => {
    cancelAnimationFrame(this.#frame);
    let left = CHUNKS_OF_FRAME;
    for (const chunk of this.#due) {
      if (left === 0) break;
      this.#due.delete(chunk);
      if (chunk.painted === this.#round) continue;
      this.#draw(chunk);
      left -= 1;
    }
    if (this.#due.size > 0) this.#frame = requestAnimationFrame(this.#drawDue);
  };

  #draw(chunk: Chunk): void {
    if (chunk.painted === 0) {
      chunk.element.append(...this.#elements(chunk));
      chunk.element.style.minHeight = "";
    } else if (chunk.painted !== this.#round)
      for (let token = chunk.from; token < chunk.stop; token += 1) {
        const element = chunk.element.children[token - chunk.from + chunk.before];
        if (element instanceof HTMLElement) this.#paintOne(element, token);
      }
    chunk.painted = this.#round;
  }

  #elements({ from, stop }: Chunk): Node[] {
    const nodes: Node[] = [];
    for (let token = from; token < stop; token += 1) {
      const element = document.createElement("span");
      const text = this.#tokens.text(token);
      element.setAttribute(AT, String(token));
      element.className = this.#classes(token, text);
      element.append(this.#tokens.label(token));
      this.#paintOne(element, token);
      nodes.push(element);
      if (text === null) nodes.push(document.createTextNode(" "));
    }
    return nodes;
  }

  #classes(token: number, text: string | null): string {
    const kind = text === null || text === "" ? style["id"] : "";
    const off = this.#tokens.trained[token] === 0 ? style["off"] : "";
    return [style["token"], off, kind, token === this.#marked ? style["parting"] : ""].join(" ");
  }

  #paintOne(element: HTMLElement, token: number): void {
    element.style.backgroundColor = this.#paint.background(token);
    element.classList.toggle(FIRST, this.#paint.isFirst(token));
    element.classList.toggle(SECOND, this.#paint.isSecond(token));
  }
}
