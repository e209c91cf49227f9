import { expect, it } from "vitest";
import type { GroupItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { listing } from "../../testing/records";
import { createSession } from "../session";
import { mostDifferent } from "./browse";

const group = (name: string, rewards: readonly number[], std: number): GroupItem => ({
  group: name,
  step: 1,
  prompt: "P",
  samples: rewards.length,
  first: 0,
  reward_mean: rewards.reduce((sum, one) => sum + one, 0) / rewards.length,
  reward_std: std,
  env: "",
  discarded: "",
  prefix: `train/1/${name}/`,
  members: rewards.map((_, at) => String(at)),
  means: [],
  cells: [[...rewards]],
});

const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1 });

const openedOf = (...groups: GroupItem[]): string | undefined =>
  mostDifferent(listing(session, { mode: "groups", columns: ["reward"], groups: new Map([[0, groups]]) }));

it("opens on the sample farthest from its group's mean, in the group with the largest spread", () => {
  expect(openedOf(group("a", [1, 1, 1], 0), group("b", [1, 1, 0], 0.47), group("c", [0, 0.1], 0.05))).toBe(
    "train/1/b/2",
  );
});

it("opens on the first of several that differ as much, and on none where rewards are equal", () => {
  expect(openedOf(group("a", [0, 1], 0.5), group("b", [1, 0], 0.5))).toBe("train/1/a/0");
  expect(openedOf(group("a", [1, 1], 0))).toBeUndefined();
});
