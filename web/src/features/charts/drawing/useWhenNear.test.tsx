import { useRef } from "preact/hooks";
import { expect, it, vi } from "vitest";
import { draw } from "../../../testing/page";
import { useWhenNear } from "./useWhenNear";

let see: (isIntersecting: boolean) => void = () => undefined;
const observed = { observe: vi.fn<() => void>(), unobserve: vi.fn<() => void>() };
vi.stubGlobal("ResizeObserver", function (tell: (entries: unknown[]) => void) {
  setTimeout(() => tell([{ target: document.querySelector("p"), contentRect: { width: 300 } }]));
  return observed;
});
vi.stubGlobal("IntersectionObserver", function (tell: (entries: unknown[]) => void) {
  see = (isIntersecting) => tell([{ target: document.querySelector("p"), isIntersecting }]);
  return observed;
});

function Words({ words, of }: { words: string; of: string }) {
  const host = useRef<HTMLParagraphElement>(null);
  const shown = useWhenNear(host, words, of);
  return <p ref={host}>{shown}</p>;
}

it("far from the screen shows a value once no other comes, near it or with another key at once", async () => {
  vi.useFakeTimers();
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  const shows = (words: string, of = "1"): string | null => {
    draw(<Words words={words} of={of} />, host);
    return host.textContent;
  };
  expect(shows("first")).toBe("first");
  const paragraph = document.querySelector("p");
  if (paragraph !== null) paragraph.getBoundingClientRect = () => new DOMRect(0, innerHeight + 500, 300, 128);
  await vi.advanceTimersByTimeAsync(50);
  expect(shows("second")).toBe("first");
  await vi.advanceTimersByTimeAsync(150);
  expect(shows("third")).toBe("first");
  await vi.advanceTimersByTimeAsync(150);
  expect(host.textContent, "another came meanwhile").toBe("first");
  await vi.advanceTimersByTimeAsync(200);
  expect(host.textContent).toBe("third");
  expect(shows("other", "2")).toBe("other");
  expect(shows("fourth", "2")).toBe("other");
  see(true);
  await vi.advanceTimersByTimeAsync(50);
  expect(host.textContent).toBe("fourth");
  expect(shows("fifth", "2")).toBe("fifth");
});
