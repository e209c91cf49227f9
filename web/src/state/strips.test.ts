import { beforeEach, expect, it } from "vitest";
import type { GroupItem } from "../api/types.gen";
import { START } from "../lib/address";
import { keyOf } from "../lib/listing";
import { listing, scopeAt } from "./list";
import { place } from "./place";
import { room, strips } from "./strips";

const group = (cells: GroupItem["cells"]): GroupItem => ({
  group: "0", step: 1, prompt: "Why?", samples: 2, first: 0, reward_mean: 0.5, reward_std: 0.5, env: "", discarded: "", prefix: "train/1/0/", members: ["0", "1"], means: cells.map(() => 0), cells,
});

/** Show a list of groups with these columns. */
function shown(columns: readonly string[], cells: GroupItem["cells"], chosen: readonly string[] | null = null): string[] {
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, mode: "groups", columns: chosen };
  const scope = scopeAt(place.peek());
  if (scope === null) throw new Error("a step is a scope");
  listing.value = { scope, key: keyOf(scope), version: "1", mode: "groups", columns, total: 2, of: 2, rows: 1, pages: new Map(), groups: new Map([[0, [group(cells)]]]), asked: new Set(), stamp: 1 };
  return strips.value.strips.map(({ name, at }) => `${name} ${at}`);
}

beforeEach(() => {
  room.value = { px: 500, isAlone: false };
});

it("are those of the usual columns that the list has values of", () => {
  const columns = ["reward", "advantage", "response_tokens"];
  const cells = [[null, null], [null, null], [3, 4]];
  expect(shown(columns, cells)).toEqual(["reward 0", "response_tokens 2"]);
  expect(shown(columns, cells, columns)).toEqual(["reward 0", "advantage 1", "response_tokens 2"]);
});

it("are one alone on a screen that has room for the list only, unless the reader chose several", () => {
  room.value = { px: 390, isAlone: true };
  const cells = [[0, 1], [3, 4]];
  expect(shown(["reward", "response_tokens"], cells)).toEqual(["reward 0"]);
  expect(shown(["reward", "response_tokens"], cells, ["reward", "response_tokens"])).toHaveLength(2);
});

it("asks for the usual columns as long as the reader chose none, and for reward by name", () => {
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sort: "kl" };
  expect(scopeAt(place.peek())).toMatchObject({ columns: ["kl", "reward"], usual: true });
  place.value = { ...place.peek(), columns: ["acc"] };
  expect(scopeAt(place.peek())).toMatchObject({ columns: ["kl", "acc"], usual: false });
});
