import { createSession } from "../../state/session";
import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { ProblemItem, RunItem } from "../../api/types.gen";
import { runs } from "../../state/runs";
import { button, drawn, settled } from "../../testing/page";
import { ProblemsPage } from "./ProblemsPage";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getProblems: vi.fn<typeof api.getProblems>(),
}));

let listed = 0;
let total = 0;
const showProblems = (): void => {
  runs.value = [
    {
      id: "r",
      name: "r",
      problems: total,
      splits: [],
      progress: { phase: "ready", done_bytes: 0, total_bytes: 0 },
    } as unknown as RunItem,
  ];
};

beforeEach(() => {
  session.place.now.value = { ...session.place.now.value, page: "problems", run: "r" };
  vi.mocked(api.getProblems).mockImplementation(async (run, offset, limit) => {
    const all = Array.from({ length: listed }, (_, i): ProblemItem => ({
      file: "a",
      start: i,
      stop: i + 1,
      reason: `bad ${i}`,
      excerpt: "",
    }));
    return { run, total, offset, problems: all.slice(offset, offset + limit) };
  });
});

it("stays where one has read on to while more problems come", async () => {
  listed = total = 250;
  showProblems();
  const host = await drawn(<ProblemsPage />, session);
  button(host, "Show more").click();
  await settled();
  listed = total = 260;
  showProblems();
  await settled();
  expect([host.querySelectorAll("li").length, host.querySelector("h1")?.textContent]).toEqual([
    200,
    "260 records could not be read as expected",
  ]);
  button(host, "Show more").click();
  await settled();
  expect(host.querySelectorAll("li")).toHaveLength(260);
});

it("says of those that are counted alone that they are not listed", async () => {
  listed = 120;
  total = 500;
  showProblems();
  const host = await drawn(<ProblemsPage />, session);
  button(host, "Show more").click();
  await settled();
  expect(host.textContent).toContain("380 more records are counted, and not listed");
  expect([...host.querySelectorAll("button")].some((one) => one.textContent === "Show more")).toBe(false);
});
