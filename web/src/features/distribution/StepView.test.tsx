import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { Stats, RunItem, MetricAtStep, StepValues } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { catalogueEntry } from "../../testing/catalogue";
import { drawn } from "../../testing/page";
import { StepView } from "./StepView";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  askStepValues: vi.fn<typeof api.askStepValues>(),
}));

const stats = (count: number, mean: number): Stats => ({ count, mean, std: 0.1, min: 0, max: 1, excluded: 0 });
const metric = (name: string, count: number, counts: number[]): MetricAtStep => ({
  name,
  stats: stats(count, 0.5),
  before: stats(count, 0.25),
  counts,
});

const REPLY: StepValues = {
  run: "r",
  version: "1",
  split: "train",
  step: 5,
  before: 4,
  edges: [0, 0.5, 1],
  metrics: [metric("derived.mean_kl", 2, [1, 1]), metric("response_tokens", 4, [])],
  samples: [0.25, null, 0.75, null].map((value, i) => ({ id: `train/5/g/${i}`, group: "g", values: [value] })),
  total: 4,
};

const ENTRIES = [
  catalogueEntry("sample", "derived.mean_kl", "Tokens", { title: "Mean KL" }),
  catalogueEntry("sample", "response_tokens", "Length and status", { title: "Response tokens", unit: "tokens" }),
];

const view = async (of = "derived.mean_kl", beside = ""): Promise<HTMLElement> => {
  const session = createSession({ ...START, page: "metrics", run: "r", split: "train", step: 5 });
  return drawn(<StepView entries={ENTRIES} of={of} beside={beside} choose={() => undefined} />, session);
};

beforeEach(() => {
  runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
  vi.mocked(api.askStepValues).mockResolvedValue(REPLY);
});

it("says of how many samples a figure is, where some have none, and how it was computed", async () => {
  const [kl, tokens] = (await view()).querySelectorAll("ul li");
  expect(kl?.textContent).toContain("2 of 4 samples have");
  expect(kl?.textContent).toContain("mean over the tokens of each sample: KL as recorded, else k3");
  expect(tokens?.textContent).not.toContain("samples");
});

it("draws metrics of other units or sizes apart, each with axes of its own and without a difference", async () => {
  const tokens = metric("response_tokens", 4, [2, 2]);
  const both = {
    ...REPLY,
    metrics: [...REPLY.metrics.slice(0, 1), { ...tokens, stats: { ...stats(4, 30), max: 60 } }],
  };
  vi.mocked(api.askStepValues).mockImplementation(async (_, { names }) => ({
    ...both,
    metrics: both.metrics.filter(({ name }) => names?.includes(name)),
  }));
  const page = await view("derived.mean_kl", "response_tokens");
  const headings = [...page.querySelectorAll("h3")].map((one) => one.textContent.trim());
  expect(headings).toEqual([
    "Distribution of Mean KL",
    "By sample of Mean KL",
    "Distribution of Response tokens",
    "By sample of Response tokens",
  ]);
  expect(page.textContent).toContain("Each has its own axes");
});
