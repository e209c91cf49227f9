import { NOTHING_SHARED } from "../../../lib/diff/commonWords";
import { createSession } from "../../../state/session";
import { expect, it } from "vitest";
import type { GroupItem } from "../../../api/types.gen";
import type { Shown, Strips } from "../../../state/list/strips";
import { drawn } from "../../../testing/page";
import { GroupHead } from "./GroupHead";
import { GroupRow } from "./GroupRow";

const session = createSession();

const HOSTILE = "<img src=x onerror=\"document.title='hacked'\">";
const GROUP: GroupItem = {
  group: "0",
  step: 1,
  prompt: "Why?",
  samples: 3,
  first: 0,
  reward_mean: 0.5,
  reward_std: 0.5,
  env: "",
  discarded: "",
  prefix: "train/1/0/",
  members: ["0", "1", "2"],
  means: [2, 0.5, 0],
  cells: [
    [1, 2, 3],
    [0, 1, "NaN"],
    [-1, 0.5, null],
  ],
};
const shown = (name: string, at: number, more: Partial<Shown> = {}): Strips["strips"][number] => ({
  name,
  at,
  words: name,
  signs: 3,
  px: 60,
  scale: { kind: "score", low: 0, high: 1 },
  ...more,
});
const SEVERAL: Strips = {
  strips: [shown("reward", 1), shown(HOSTILE, 2, { scale: { kind: "signed", low: -2.5, high: 2.5 } })],
  isBeside: false,
  lines: 1,
};

const row = (strips: Strips) =>
  drawn(
    <GroupRow
      group={GROUP}
      strips={strips}
      isHere={false}
      at={null}
      canFocus
      isOfSteps={false}
      common={NOTHING_SHARED}
      box="height: 52px"
    />,
    session,
  );

it("draws a strip a column, and says the numbers of the first and the ends of the others", async () => {
  session.place.now.value = { ...session.place.now.value, page: "rollouts", run: "r", split: "train", step: 1 };
  const host = await row(SEVERAL);
  const strips = [...host.querySelectorAll("[role=img]")];
  expect(strips.map((one) => one.getAttribute("aria-label"))).toEqual(["Reward: 0, 1, NaN", `${HOSTILE}: −1 to 0.500`]);
  expect(strips.map((one) => one.querySelectorAll("[data-member]").length)).toEqual([3, 3]);
  expect(host.querySelector("b")?.textContent).toBe("0.500"); // the mean of the first strip, wherever its values stand
  expect(host.querySelector("img")).toBeNull();
});

it("names each strip and its scale above the rows", async () => {
  const head = await drawn(<GroupHead strips={SEVERAL} />, session);
  expect(head.textContent).toBe(`reward01${HOSTILE}±2.5Mean ± std`);
  expect([...head.querySelectorAll("[title]")].map((one) => one.getAttribute("title"))).toEqual([
    "Reward: colours from 0.00 to 1.00",
    `${HOSTILE}: colours from −2.50 to 2.50`,
  ]);
  const one = await drawn(
    <GroupHead strips={{ strips: [shown("reward", 0, { words: "Reward" })], isBeside: true, lines: 1 }} />,
    session,
  );
  expect(one.textContent).toBe("PromptRewardMean ± std");
});
