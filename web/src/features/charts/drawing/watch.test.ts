import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { watch } from "./watch";

type Sizes = (entries: { target: Element; contentRect: { width: number } }[]) => void;
type Sights = (entries: { target: Element; isIntersecting: boolean }[]) => void;
const observed = { observe: vi.fn<() => void>(), unobserve: vi.fn<() => void>() };
let size: Sizes;
let see: Sights;

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", function (tell: Sizes) {
    size = tell;
    return observed;
  });
  vi.stubGlobal("IntersectionObserver", function (tell: Sights) {
    see = tell;
    return observed;
  });
});
afterEach(() => vi.unstubAllGlobals());

it("tells which charts are on the screen at once, when one comes near, and of all before they are printed", () => {
  const told: string[] = [];
  const [near, far] = [100, innerHeight + 100].map((top, i) => {
    const element = document.createElement("div");
    element.getBoundingClientRect = () => new DOMRect(0, top, 300, 128);
    const forget = watch(element, (width, isNear) => told.push(`${i} ${width} ${isNear ? "near" : "far"}`));
    return { element, forget };
  });
  if (near === undefined || far === undefined) throw new Error("two charts");
  const toldSince = (): string[] => told.splice(0);
  size([near, far].map(({ element }) => ({ target: element, contentRect: { width: 300.4 } })));
  expect(toldSince()).toEqual(["0 300 near", "1 300 far"]);
  see([{ target: far.element, isIntersecting: true }]);
  see([{ target: far.element, isIntersecting: false }]);
  expect(toldSince()).toEqual(["1 300 near", "1 300 far"]);
  dispatchEvent(new Event("beforeprint"));
  expect(toldSince()).toEqual(["0 300 near", "1 300 near"]);
  size([{ target: far.element, contentRect: { width: 200 } }]);
  expect(toldSince(), "one that is known to be near").toEqual(["1 200 near"]);
  size([{ target: near.element, contentRect: { width: 0 } }]);
  expect(toldSince(), "a hidden chart").toEqual(["0 0 far"]);
  near.forget();
  see([{ target: near.element, isIntersecting: true }]);
  expect(toldSince()).toEqual([]);
});
