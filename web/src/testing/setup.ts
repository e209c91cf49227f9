/** A fresh page for each test file: the files share a process, for a quick start, and nothing else. */

import { afterAll, vi } from "vitest";
import { render } from "preact";

vi.resetModules();
localStorage.clear();

afterAll(() => {
  for (const host of document.body.children) render(null, host);
  document.body.replaceChildren();
  vi.restoreAllMocks();
  vi.useRealTimers();
  history.replaceState(null, "", "/");
});
