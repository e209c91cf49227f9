import { createSession } from "../../state/session";
import { expect, it } from "vitest";
import type { GroupItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { drawn } from "../../testing/page";
import { MiniNav } from "./MiniNav";
import { listing } from "../../testing/records";

const session = createSession();

function group(name: number, first: number, members: string[]): GroupItem {
  return {
    group: String(name),
    step: 1,
    prompt: "Why?",
    samples: members.length,
    first,
    reward_mean: 1,
    reward_std: 0,
    env: "",
    discarded: "",
    prefix: `train/1/${name}/`,
    members,
    means: [1],
    cells: [[1]],
  };
}

/**
 * What the navigator says at the second sample of the second group. Each group has eight samples, of which some are in
 * the list.
 */
async function position(discarded: boolean): Promise<string | undefined> {
  session.place.now.value = {
    ...START,
    page: "rollouts",
    run: "r",
    split: "train",
    step: 1,
    sample: "train/1/1/5",
    mode: "groups",
    discarded,
  };
  const groups = new Map([[0, [group(0, 0, ["0", "1"]), group(1, 2, ["3", "5", "7"])]]]);
  session.list.now.value = listing(session, { mode: "groups", columns: ["reward"], total: 5, of: 16, rows: 2, groups });
  return (await drawn(<MiniNav />, session)).querySelector("span")?.textContent;
}

it("counts the samples of the group that are in the list, and of what was discarded those of the list", async () => {
  expect(await position(false)).toBe("2 / 3");
  expect(await position(true)).toBe("4 / 5");
});
