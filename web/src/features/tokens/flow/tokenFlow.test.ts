import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settled } from "../../../testing/page";
import { tokenSample } from "../../../testing/tokens";
import { tokenAt } from "./pieces";
import { TokenFlow } from "./tokenFlow";

const TURNS = [
  { role: "user", origin: "prompt" },
  { role: "assistant", origin: "response" },
];
const MANY = 2000;
const NO_MARKS = { isFirst: () => false, isSecond: () => false };

/** What the flow watches, and the function that says what is near. */
let see: (isNear: (element: Element) => boolean) => void;

class Observer {
  readonly targets: Element[] = [];
  constructor(listen: (entries: { target: Element; isIntersecting: boolean }[]) => void) {
    see = (isNear) => listen(this.targets.map((target) => ({ target, isIntersecting: isNear(target) })));
  }
  observe(target: Element): void {
    this.targets.push(target);
  }
  disconnect(): void {
    this.targets.length = 0;
  }
}

beforeEach(() => vi.stubGlobal("IntersectionObserver", Observer));
afterEach(() => vi.unstubAllGlobals());

function drawn(background = "red"): { host: HTMLElement; flow: TokenFlow } {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  const text = Array.from({ length: MANY }, (_, token) => ` ${token}`);
  const tokens = tokenSample({ text, turn: text.map((_, token) => (token < 10 ? 0 : 1)) }, TURNS);
  return { host, flow: new TokenFlow(host, host, tokens, { ...NO_MARKS, background: () => background }) };
}

const colours = (host: HTMLElement): Set<string> =>
  new Set([...host.querySelectorAll<HTMLElement>("[data-at]")].map((one) => one.style.backgroundColor));

describe("the flow of tokens", () => {
  it("is laid out once, however many turns there are", () => {
    const host = document.createElement("div");
    const width = vi.fn<() => number>(() => 800);
    Object.defineProperty(host, "clientWidth", { get: width });
    const text = Array.from({ length: 400 }, (_, token) => ` ${token}`);
    const tokens = tokenSample({ text, turn: text.map((_, token) => token % 2) }, TURNS);
    const flow = new TokenFlow(host, host, tokens, { ...NO_MARKS, background: () => "red" });
    expect(width).toHaveBeenCalledTimes(1);
    flow.turnAll(true);
    expect(width).toHaveBeenCalledTimes(2);
    expect(host.querySelectorAll("[class*=chunk]")).toHaveLength(400);
  });
  it("has elements for the first screen at once, and for the chunks that come near", () => {
    const { host, flow } = drawn();
    expect(host.querySelectorAll("[data-at]")).toHaveLength(3 * 512);
    expect(host.textContent).toContain("assistant 10 11 12");
    see((element) => element === host.querySelector("[class*=chunk]:last-child"));
    expect(host.querySelectorAll("[data-at]")).toHaveLength(MANY - 10);
    flow.end();
    expect(host.childElementCount).toBe(0);
  });
  it("paints again what is near, and the rest when it comes near", async () => {
    const { host, flow } = drawn();
    see(() => true);
    await settled(); // a frame draws three chunks
    expect(host.querySelectorAll("[data-at]")).toHaveLength(MANY - 10);
    see((element) => element === host.querySelector("[class*=chunk]"));
    flow.repaint({ ...NO_MARKS, background: () => "blue" });
    expect(colours(host)).toEqual(new Set(["red", "blue"]));
    see(() => true);
    await settled();
    expect(colours(host)).toEqual(new Set(["blue"]));
  });
  it("folds prompts until somebody opens them, or goes to one of their tokens", () => {
    const { host, flow } = drawn();
    const button = host.querySelector("button");
    expect(button?.textContent).toBe("user10 tokens folded");
    expect(flow.outermost(-1)).toBe(10);
    button?.click();
    expect(button?.getAttribute("aria-expanded")).toBe("true");
    see(() => true);
    expect(flow.outermost(-1)).toBe(0);
    flow.turnAll(false);
    expect(flow.outermost(-1)).toBe(10);
    expect(flow.elementOf(3)?.textContent).toBe(" 3");
    expect(button?.textContent).toBe("user10 tokens");
  });
  it("shows where a token is on the page without an element for it, and opens nothing", () => {
    const { host, flow } = drawn();
    const [first] = host.querySelectorAll("[class*=chunk]");
    see((element) => element === first);
    expect([flow.shown(10)?.textContent, flow.shown(1999), flow.shown(3)]).toEqual([" 10", null, null]);
    flow.turnAll(true);
    expect(flow.shown(3)).toBeNull();
    expect(flow.elementOf(3)).toBe(flow.shown(3));
  });
  it("finds a token that has no element yet, and the token of an element", () => {
    const { flow } = drawn();
    const element = flow.elementOf(1999);
    expect(element?.textContent).toBe(" 1999");
    expect([tokenAt(element), tokenAt(document.body), flow.elementOf(MANY)]).toEqual([1999, null, null]);
    expect([flow.following(10, -1), flow.following(10, 1), flow.outermost(1)]).toEqual([10, 11, 1999]);
  });
});
