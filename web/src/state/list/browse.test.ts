import { expect, it, vi } from "vitest";
import type * as api from "../../api";
import type { GroupItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { settled } from "../../testing/page";
import { listing } from "../../testing/records";
import { changeSample } from "../marks";
import { createSession, type Session } from "../session";
import { mostDifferent } from "./browse";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  changeState: vi.fn<typeof api.changeState>(async () => new Promise(() => undefined)),
}));

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

/** What is open after the list has lost a sample that the page opened, and that the reader then chose or marked. */
async function openAfterLoss(touch: (own: Session) => void = () => undefined): Promise<string | null> {
  const own = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1 });
  own.list.find = async () => Promise.resolve(true);
  own.browse.start();
  const listed = (...groups: GroupItem[]) =>
    listing(own, { mode: "groups", columns: ["reward"], groups: new Map([[0, groups]]) });
  const before = listed(group("a", [0, 0.5], 0.25), group("b", [1, 0], 0.5));
  own.list.now.value = before;
  own.browse.goOpening(before);
  expect(own.place.now.peek().sample).toBe("train/1/b/0");
  touch(own);
  own.list.now.value = listed(group("a", [0, 0.5], 0.25));
  await settled();
  own.end();
  return own.place.now.peek().sample;
}

it("opens another sample if the list loses the one that opened by itself, as once its discard is known", async () => {
  expect(await openAfterLoss()).toBe("train/1/a/0");
});

it("keeps the sample that the reader chose, writes a note on, or marked", async () => {
  const choose = ({ place }: Session): void => {
    place.go({ sample: "train/1/a/0" });
    place.go({ sample: "train/1/b/0" });
  };
  const mark = (): void => void changeSample("r", "train/1/b/0", { bookmarked: true });
  for (const touch of [choose, ({ browse }: Session) => browse.stay(), mark])
    expect(await openAfterLoss(touch)).toBe("train/1/b/0");
});
