import { createSession } from "../../state/session";
import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { PromptScores, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { drawn, settled } from "../../testing/page";
import { GridSection } from "./GridSection";

const session = createSession();

vi.mock(import("../../api"), async (original) => ({ ...(await original()), askGrid: vi.fn<typeof api.askGrid>() }));
// Nothing is laid out here: all rows are on the screen.
vi.mock("../../ui/hooks/useVirtual", () => ({
  useVirtual: ({ count }: { count: number }) => ({
    getVirtualItems: () => Array.from({ length: count }, (_, index) => ({ index, start: 0 })),
    getTotalSize: () => 0,
  }),
}));

const TOTAL = 150;
const RUN = { id: "r", name: "r", version: "1", splits: [{ name: "eval/a", steps: 1, samples: TOTAL }] } as RunItem;

vi.mocked(api.askGrid).mockImplementation(async (run, asked) => {
  const { split, metric, offset, limit } = asked as { split: string; metric: string; offset: number; limit: number };
  const prompts = Array.from({ length: TOTAL }, (_, i): PromptScores => ({
    name: String(i),
    prompt: `${metric} ${i}`,
    verdict: "never",
    n: [1],
    c: [0],
    beat: null,
  }));
  return {
    run,
    split,
    version: "1",
    metric,
    metrics: [],
    bar: 1,
    falls: false,
    reason: "",
    steps: [1],
    total: TOTAL,
    offset,
    prompts: prompts.slice(offset, offset + limit),
    counts: {},
    once: 0,
  };
});

/** The page, evaluated by a metric. */
const by = (metric: string) => ({ ...START, page: "evals" as const, run: "r", ask: { metric } });

beforeEach(() => {
  runs.value = [RUN];
});

it("shows no row of the number that was asked for before", async () => {
  session.place.now.value = by("first");
  const host = await drawn(<GridSection split="eval/a" splits={["eval/a"]} />, session);
  await vi.waitFor(() => expect(host.textContent).toContain("first 120"));
  session.place.now.value = by("second");
  await settled();
  await vi.waitFor(() => expect(host.textContent).toContain("second 120"));
  expect(host.textContent).not.toContain("first 120");
});
