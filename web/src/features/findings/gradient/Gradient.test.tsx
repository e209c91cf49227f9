import { beforeEach, describe, expect, it, vi } from "vitest";
import * as findingsApi from "../../../api/routes.gen";
import type { RunGradient, GradientShare, RunItem } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { runs } from "../../../state/runs";
import { createSession } from "../../../state/session";
import { drawn } from "../../../testing/page";
import { Gradient } from "./Gradient";

vi.mock("../../../api/routes.gen", () => ({ askGradient: vi.fn<typeof findingsApi.askGradient>() }));

const share = (name: string, where: string, more: Partial<GradientShare> = {}): GradientShare => ({
  name,
  where,
  samples: 20,
  groups: 4,
  on_rewards: 0.25,
  on_std: 0.5,
  recorded: null,
  ...more,
});

const REPLY: RunGradient = {
  run: "r",
  version: "1",
  note: "",
  step_min: 3,
  step_max: null,
  env: "math",
  samples: 80,
  discarded: 6,
  groups: 10,
  dead: 2,
  single: 0,
  effective: 6.6,
  by_step: [
    { step: 3, groups: 5, dead: 0 },
    { step: 4, groups: 5, dead: 2 },
  ],
  correct: "acc",
  all_right: 3,
  all_wrong: 1,
  shaping: share("shaping", "", { on_rewards: 0.006 }),
  shaping_samples: ["train/4/7/0"],
  dead_samples: ["train/4/9/0"],
  by_env: [],
  by_length: [share("1 to 9 tokens", "response_tokens <= 9")],
  by_outcome: [share("right", "acc >= 1")],
  prompts: { metric: "acc", once: 3, always: 0, never: 5, solved: 1, lost: 2, mixed: 0 },
};

let session = createSession();
const page = async (): Promise<HTMLElement> => drawn(<Gradient run="r" version="1" />, session);

beforeEach(() => {
  runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
  session = createSession({ ...START, page: "findings", run: "r", ask: { from: "3", env: "math" } });
  vi.mocked(findingsApi.askGradient).mockResolvedValue(REPLY);
});

describe("where the gradient came from", () => {
  it("has shares of samples and gradient by length and outcome, each with a link that lists the samples", async () => {
    const host = await page();
    const rows = [...host.querySelectorAll("tbody tr")].map((row) => row.textContent);
    expect(rows[0]).toBe("All right or all wrong 4 groups that differ by other parts25%0.6%50%");
    expect(rows.slice(1)).toEqual(["Length", "1 to 9 tokens 4 groups25%25%50%", "Outcome", "right 4 groups25%25%50%"]);
    const links = [...host.querySelectorAll("tbody a")].map((link) => link.getAttribute("href") ?? "");
    expect(links[0]).toContain("sample=train/4/7/0");
    expect(links[1]).toContain("where=response_tokens+%3C%3D+9+and+env+%3D+math");
    expect(links[1]).toContain("scope=3%3A");
    expect(vi.mocked(findingsApi.askGradient).mock.lastCall?.[1]).toMatchObject({ step_min: "3", env: "math" });
  });

  it("counts dead groups by step, and prompts never right, solved and lost", async () => {
    const host = await page();
    expect(host.textContent).toContain("2 of 10 groups (20%) have equal rewards, and no gradient. The latest, chart");
    expect(host.querySelector("svg")?.getAttribute("aria-label")).toBe("Share of such groups by step: up to 40%");
    expect(host.textContent).toContain("Prompts of several steps, by acc: 5 never right, 1 solved, 2 lost.");
    const lost = [...host.querySelectorAll("a")].at(-1)?.getAttribute("href");
    expect(lost).toContain("/evals?");
    expect(lost).toContain("only=lost");
  });

  it("names groups of one", async () => {
    vi.mocked(findingsApi.askGradient).mockResolvedValue({ ...REPLY, dead: 10, single: 10 });
    expect((await page()).textContent).toContain("10 groups of one sample: without siblings");
    vi.mocked(findingsApi.askGradient).mockResolvedValue({ ...REPLY, single: 1 });
    session.place.go({ ask: { from: "4" } });
    expect((await page()).textContent).toContain("2 of 10 groups (20%) have equal rewards (1 have one sample), and no");
  });

  it("is absent for evaluations, and for a run that trained on nothing", async () => {
    session.place.go({ ask: { of: "eval" } });
    expect((await page()).textContent).toBe("");
    session.place.go({ ask: {} });
    vi.mocked(findingsApi.askGradient).mockResolvedValue({ ...REPLY, samples: 0, groups: 0 });
    expect((await page()).textContent).toBe("");
  });
});
