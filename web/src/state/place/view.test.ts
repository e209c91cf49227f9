import { expect, it, vi } from "vitest";
import * as api from "../../api";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { item, runItem, samplesReply } from "../../testing/records";
import { PAGE } from "../list/pages";
import { runs } from "../runs";
import { createSession } from "../session";

const STATUS = { name: "status", kind: "text", source: "fixed", label: "", unit: "", is_empty: false } as const;

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  askColumns: async (run, { split }) => ({
    run,
    split,
    version: "1",
    columns: [{ ...STATUS, low: null, high: null, worst: null, best: null }],
    series: [],
    group_size: 0,
  }),
  getSamples: vi.fn<typeof api.getSamples>(),
}));

it("adds no column of states to a table that is scrolled", async () => {
  let first = "unknown";
  vi.mocked(api.getSamples).mockImplementation(async (_, { offset, limit }) => {
    const status = offset === 0 ? first : "completed";
    const samples = Array.from({ length: limit }, (__, i) => item(offset + i, { status }));
    return samplesReply(samples, { offset, total: 2 * PAGE, of: 2 * PAGE });
  });
  const at = { page: "rollouts", mode: "table", run: "r", split: "train", step: 1, sample: "train/1/0/0" } as const;
  const session = createSession({ ...START, ...at });
  session.list.start();
  session.columns.start();
  runs.value = [runItem()];
  await settled();
  await session.list.need(1);
  expect(session.list.now.value?.pages.get(1)?.[0]?.status).toBe("completed");
  expect([session.columns.named("status") === null, session.view.isIdle("status")]).toEqual([false, true]);
  first = "completed";
  await session.list.reload();
  expect(session.view.isIdle("status")).toBe(false);
});
