import { expect, it, vi } from "vitest";
import * as api from "../../api/routes.gen";
import type { RunFindings, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../runs";
import { createSession } from "../session";

vi.mock("../../api/routes.gen", () => ({ askFindings: vi.fn<typeof api.askFindings>() }));

const one = (kind: string, phrase: string) => ({ class: kind, phrase, behaviour: "" });

it("suspects are counted once for each version of the run", async () => {
  const findings = [one("suspect", "a"), one("suspect", "b"), one("earned", "c")];
  vi.mocked(api.askFindings).mockResolvedValue({ run: "r", version: "1", findings } as RunFindings);
  const session = createSession({ ...START, run: "r" });
  runs.value = [{ id: "r", splits: [{ name: "train" }] } as RunItem];
  await session.findings.load("r", "1");
  await session.findings.load("r", "1");
  await session.findings.load("r", undefined);
  expect(api.askFindings).toHaveBeenCalledTimes(1);
  expect(session.findings.suspects.value).toBe(2);
  await session.findings.load("r", "2");
  expect(api.askFindings).toHaveBeenCalledTimes(2);
  session.end();
});
