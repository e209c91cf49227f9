import { createSession } from "../../../state/session";
import { expect, it } from "vitest";
import type { MemberText, RunItem } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { runs } from "../../../state/runs";
import { drawn } from "../../../testing/page";
import { item, samplesReply } from "../../../testing/records";
import { ColumnHead } from "../columns/Column";
import { GroupTable } from "./GroupTable";

const session = createSession();

it("says once how a sample ended that was discarded for that, in the table and above its column", async () => {
  runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
  session.place.now.value = {
    ...START,
    page: "rollouts",
    view: "group",
    run: "r",
    split: "train",
    step: 1,
    sample: "train/1/0/0",
  };
  const cut = item(0, { status: "truncated", discarded: "truncated" });
  const items = [cut, item(1, { status: "truncated", discarded: "max_async" })];
  session.group.members.value = samplesReply(items);
  const table = await drawn(<GroupTable />, session);
  expect(
    [...table.querySelectorAll("tbody tr")].map((row) => row.querySelector("td:nth-last-child(2)")?.textContent.trim()),
  ).toEqual(["truncated", "truncated max_async"]);
  const answer: MemberText = {
    id: cut.id,
    pieces: [],
    chars: 0,
    skipped: 0,
    cut: 0,
    verdict: "none",
    parts_at: -1,
    error: "",
  };
  const head = await drawn(<ColumnHead answer={answer} item={cut} items={items} />, session);
  expect(head.textContent.split("truncated")).toHaveLength(2);
});
