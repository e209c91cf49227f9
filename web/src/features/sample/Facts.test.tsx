import { createSession } from "../../state/session";
import { expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
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
