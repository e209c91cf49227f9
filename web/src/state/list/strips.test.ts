import { createSession } from "../session";
import { beforeEach, expect, it } from "vitest";
import type { GroupItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { listing } from "../../testing/records";

const session = createSession();

const group = (cells: GroupItem["cells"]): GroupItem => ({
  group: "0",
  step: 1,
  prompt: "Why?",
  samples: 2,
  first: 0,
  reward_mean: 0.5,
  reward_std: 0.5,
  env: "",
  discarded: "",
  prefix: "train/1/0/",
  members: ["0", "1"],
  means: cells.map(() => 0),
  cells,
});

/** Show a list of groups with these columns. */
function shown(
  columns: readonly string[],
  cells: GroupItem["cells"],
  chosen: readonly string[] | null = null,
): string[] {
  session.place.now.value = {
    ...START,
    page: "rollouts",
    run: "r",
    split: "train",
    step: 1,
    mode: "groups",
    columns: chosen,
  };
  const groups = new Map([[0, [group(cells)]]]);
  session.list.now.value = listing(session, { mode: "groups", columns, total: 2, of: 2, rows: 1, groups });
  return session.strips.now.value.strips.map(({ name, at }) => `${name} ${at}`);
}

beforeEach(() => {
  session.strips.room.value = { px: 500, isAlone: false };
});

it("are those of the usual columns that the list has values of", () => {
  const columns = ["reward", "advantage", "response_tokens"];
  const cells = [
    [null, null],
    [null, null],
    [3, 4],
  ];
  expect(shown(columns, cells)).toEqual(["reward 0", "response_tokens 2"]);
  expect(shown(columns, cells, columns)).toEqual(["reward 0", "advantage 1", "response_tokens 2"]);
});

it("are one alone on a screen that has room for the list only, unless the reader chose several", () => {
  session.strips.room.value = { px: 390, isAlone: true };
  const cells = [
    [0, 1],
    [3, 4],
  ];
  expect(shown(["reward", "response_tokens"], cells)).toEqual(["reward 0"]);
  expect(shown(["reward", "response_tokens"], cells, ["reward", "response_tokens"])).toHaveLength(2);
});

it("asks for the usual columns as long as the reader chose none, and for reward by name", () => {
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sort: "kl" };
  expect(session.list.scopeAt(session.place.now.peek())).toMatchObject({ columns: ["kl", "reward"], usual: true });
  session.place.now.value = { ...session.place.now.peek(), columns: ["acc"] };
  expect(session.list.scopeAt(session.place.now.peek())).toMatchObject({ columns: ["kl", "acc"], usual: false });
});
