import { beforeEach, describe, expect, it, vi } from "vitest";
import * as findingsApi from "../../../api/routes.gen";
import type { RunLint, RunItem } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { runs } from "../../../state/runs";
import { createSession } from "../../../state/session";
import { drawn } from "../../../testing/page";
import { Quality } from "./Quality";

vi.mock("../../../api/routes.gen", () => ({ askLint: vi.fn<typeof findingsApi.askLint>() }));

const REPLY: RunLint = {
  run: "r",
  version: "1",
  broken: [
    {
      rule: "mask_gap",
      words: "the mask lacks some",
      is_certain: true,
      text: "The loss mask has gaps: 2 of 64 samples read.",
      count: 2,
      samples: ["train/3/a/0", "train/4/a/1"],
    },
  ],
  unchecked: [{ rule: "policy_lag", reason: "the samples name no version" }],
  checked: ["mask_gap", "same_id"],
  samples: 1200,
  discarded: 0,
  read: 64,
};

let session = createSession();
const page = async (reply: RunLint): Promise<HTMLElement> => {
  vi.mocked(findingsApi.askLint).mockResolvedValue(reply);
  return drawn(<Quality run="r" version="1" />, session);
};

beforeEach(() => {
  runs.value = [{ id: "r", name: "r", version: "1", splits: [{ name: "train" }] } as RunItem];
  session = createSession({ ...START, page: "findings", run: "r", ask: { from: "3", of: "train" } });
});

describe("data quality", () => {
  it("has each broken rule in words, how many samples break it, and links to some", async () => {
    const host = await page(REPLY);
    expect(host.querySelector("h3")?.textContent).toBe("Wrong The loss mask has gaps: 2 of 64 samples read.");
    expect(host.querySelector("p")?.textContent).toBe(
      "The rule: the mask lacks some. Samples: train/3/a/0, train/4/a/1",
    );
    expect([...host.querySelectorAll("a")].map((one) => one.getAttribute("href"))).toEqual([
      expect.stringContaining("sample=train/3/a/0"),
      expect.stringContaining("sample=train/4/a/1"),
    ]);
    expect(host.querySelector("summary")?.textContent).toBe(
      "2 rules checked over 1,200 samples; 64 of them read in full, evenly over the steps; 1 not checked",
    );
    expect((await page({ ...REPLY, discarded: 7 })).querySelector("summary")?.textContent).toContain(
      "over 1,200 samples, including 7 discarded; ",
    );
    expect(host.querySelector("li")?.textContent).toBe("Not checked: policy_lag, for the samples name no version.");
    expect(vi.mocked(findingsApi.askLint).mock.lastCall?.[1]).toEqual({ split: "train", step_min: "3", step_max: "" });
  });

  it("is one line where no sample breaks a rule, and nothing for a run without samples", async () => {
    const host = await page({ ...REPLY, broken: [], unchecked: [], read: 1200 });
    expect(host.querySelector("h2")).toBeNull();
    expect(host.textContent).toBe("Data quality: no sample breaks a rule. 2 rules checked over 1,200 samples");
    expect((await page({ ...REPLY, samples: 0 })).textContent).toBe("");
  });
});
