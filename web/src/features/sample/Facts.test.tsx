import { createSession } from "../../state/session";
import { expect, it } from "vitest";
import type { ColumnInfo, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { drawn } from "../../testing/page";
import { reply } from "../../testing/records";
import { Facts } from "./Facts";

const session = createSession();

it("colours a metric whose range the run declares, unless its name says that more of it is no merit", async () => {
  const ranges = [
    { name: "correct", worst: 0, best: 1 },
    { name: "num_tries", worst: 0, best: 5 },
    { name: "response_length", worst: 400, best: 0 },
  ];
  runs.value = [
    {
      id: "r",
      name: "r",
      version: "1",
      splits: [{ name: "train" }],
      reward_range: null,
      metric_ranges: ranges,
    } as unknown as RunItem,
  ];
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/0/0" };
  const facts = ranges.map(({ name }) => ({ name, kind: "metric", value: 0, label: "" }));
  const host = await drawn(<Facts reply={reply({ facts })} />, session);
  const ink = (name: string) => host.querySelector<HTMLElement>(`div[title^="${name}:"] dd`)?.style.color;
  expect([ink("correct"), ink("num_tries"), ink("response_length")]).toEqual([
    "var(--reward-ink-0)",
    "",
    "var(--reward-ink-4)",
  ]);
});

it("hides zeros that grade nothing until all is shown, and zeros and constants on demand", async () => {
  const facts = ["timeouts", "correct"].map((name) => ({ name, kind: "metric", value: 0, label: "" }));
  const many = Array.from({ length: 80 }, (_, i) => ({ name: `m${i}`, kind: "metric", value: i + 1, label: "" }));
  const host = await drawn(<Facts reply={reply({ facts: [...facts, ...many] })} />, session);
  const has = (name: string) => host.querySelector(`div[title^="${name}:"]`) !== null;
  const press = async (words: RegExp) => {
    [...host.querySelectorAll("button")].find(({ textContent }) => words.test(textContent))?.click();
    await new Promise((done) => setTimeout(done, 20));
  };
  expect([has("correct"), has("timeouts")]).toEqual([true, false]);
  await press(/^Show all/);
  expect([has("m79"), has("timeouts")]).toEqual([true, false]);
  await press(/^Zeros and constants: 1/);
  expect(has("timeouts")).toBe(true);
});

it("never hides the reward or a metric that is the same in all samples, as in a run of one sample", async () => {
  const own = createSession();
  own.columns.named = (name) => ({ name, kind: "number", low: 1, high: 1 }) as ColumnInfo;
  const facts = [{ name: "figure", kind: "metric", value: 1, label: "" }];
  const host = await drawn(<Facts reply={reply({ reward: 1, facts })} />, own);
  const shown = [...host.querySelectorAll("dt")].map(({ textContent }) => textContent);
  expect(shown).toContain("Reward");
  expect(shown).toContain("figure");
  expect(shown).not.toContain("Turns");
});
