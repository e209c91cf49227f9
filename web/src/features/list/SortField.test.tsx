import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { ColumnInfo } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { drawn, settled } from "../../testing/page";
import { item, listing, runItem } from "../../testing/records";
import { SortField } from "./SortField";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  askColumns: vi.fn<typeof api.askColumns>(),
}));

const column = (name: string, source: string, isEmpty = false): ColumnInfo => ({
  name,
  kind: "number",
  source,
  low: null,
  high: null,
  worst: null,
  best: null,
  label: name,
  unit: "",
  is_empty: isEmpty,
});

const COLUMNS = [
  column("reward", "fixed"),
  column("advantage", "fixed", true),
  column("discarded", "fixed"),
  column("derived.max_kl", "derived", true),
];

/** The orders that a run with these columns offers, and the words of the whole field. */
async function offered({ isOfDiscarded = false, rewards = [0, 1], columns = COLUMNS, sort = "reward" } = {}) {
  const place = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sort } as const;
  const session = createSession({ ...place, discarded: isOfDiscarded });
  vi.mocked(api.askColumns).mockResolvedValue({
    run: "r",
    version: "1",
    split: "train",
    columns,
    series: ["logprobs"],
    group_size: 2,
  } as never);
  session.columns.start();
  const rows = rewards.map((reward, at) => item(at, { values: [reward] }));
  session.list.now.value = listing(session, { columns: ["reward"], total: rows.length, pages: new Map([[0, rows]]) });
  await settled();
  const host = await drawn(<SortField />, session);
  host.querySelector("select")?.dispatchEvent(new Event("pointerenter"));
  await settled();
  session.end();
  return { names: [...host.querySelectorAll("option")].map(({ value }) => value), words: host.textContent };
}

beforeEach(() => {
  runs.value = [runItem()];
});

it("offers no order by a column without values", async () => {
  const always = ["index", " worst first", "length", "reward"];
  expect((await offered()).names).toEqual(always);
  expect((await offered({ isOfDiscarded: true })).names).toEqual([...always, "discarded"]);
  const columns = [column("reward", "fixed", true)];
  expect((await offered({ columns, sort: "index" })).names).toEqual(["index", "length"]);
});

it("says so if all samples of the list have the same value", async () => {
  expect((await offered({ rewards: [0, 0] })).words).toContain("all 0");
  expect((await offered({ rewards: [0.25, 0.25] })).words).toContain("all 0.250");
  expect((await offered()).words).not.toContain("all 0");
});
