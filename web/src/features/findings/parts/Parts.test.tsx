import { beforeEach, describe, expect, it, vi } from "vitest";
import * as findingsApi from "../../../api/routes.gen";
import type { RunParts, PartTerm } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { createSession } from "../../../state/session";
import { drawn } from "../../../testing/page";
import { Parts } from "./Parts";

vi.mock("../../../api/routes.gen", () => ({ askParts: vi.fn<typeof findingsApi.askParts>() }));

const term = (words: string, weight: number, more: Partial<PartTerm>): PartTerm => ({
  words,
  weight,
  share: 0.5,
  phrase: "",
  behaviour: "",
  pattern: "",
  where: "",
  ...more,
});

const REPLY: RunParts = {
  run: "r",
  version: "1",
  parts: [
    {
      name: "format",
      text: "",
      terms: [
        term("has “<answer>”", 0.2512, { pattern: "<answer>" }),
        term("length", -0.0334, { behaviour: "derived.characters", where: "derived.characters > 0" }),
      ],
      r2: 0.923,
      spread: 0.1,
      groups: 40,
    },
    { name: "bonus", text: "bonus is always 0", terms: [], r2: null, spread: 0, groups: 0 },
  ],
  whole: "",
  split: "train",
  env: null,
  step_min: 3,
  step_max: null,
  samples: 80,
  pending: 0,
  note: "The reward has 2 parts.",
};

const session = createSession({ ...START, page: "findings", run: "r", ask: { from: "3", env: "math" } });

beforeEach(() => {
  vi.mocked(findingsApi.askParts).mockResolvedValue(REPLY);
});

describe("what each part pays for", () => {
  it("is a formula with what it explains, and a link from each term to its samples", async () => {
    const host = await drawn(<Parts run="r" version="1" />, session);
    const [formula, other] = [...host.querySelectorAll("li")];
    expect(formula?.textContent).toBe("format = 0.25 · has “<answer>” − 0.033 · lengthexplains 92%");
    const [phrase, behaviour] = [...host.querySelectorAll("a")].map((link) => link.getAttribute("href"));
    expect(phrase).toContain("/search?");
    expect(phrase).toContain("3%3A");
    expect(behaviour).toContain("where=derived.characters+%3E+0");
    expect(other?.textContent).toBe("bonus is always 0");
    expect(vi.mocked(findingsApi.askParts).mock.lastCall?.[1]).toMatchObject({ step_min: "3", env: "math" });
  });

  it("is absent where no sample is indexed", async () => {
    vi.mocked(findingsApi.askParts).mockResolvedValue({ ...REPLY, samples: 0 });
    expect((await drawn(<Parts run="r" version="2" />, session)).textContent).toBe("");
  });
});
