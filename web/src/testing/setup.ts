/** A fresh page for each test file: the files share a process, for a quick start, and nothing else. */

import { afterAll, afterEach, vi } from "vitest";
import { render } from "preact";

vi.resetModules();
localStorage.clear();

// Preact has one list of effects that wait for a frame: those of a false clock would hold up all later ones.
afterEach(() => {
  if (vi.isFakeTimers()) vi.advanceTimersByTime(1000);
  vi.useRealTimers();
});
afterAll(() => {
  for (const host of document.body.children) render(null, host);
  document.body.replaceChildren();
  vi.restoreAllMocks();
  history.replaceState(null, "", "/");
});
