import { expect, it, vi } from "vitest";
import * as api from "../../api/routes.gen";
import type { RunFindings, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../runs";
import { createSession } from "../session";

vi.mock("../../api/routes.gen", () => ({ askFindings: vi.fn<typeof api.askFindings>() }));

const run = (phase: string): RunItem => ({ id: "r", splits: [{ name: "train" }], progress: { phase } }) as RunItem;
const one = (kind: string, phrase: string) => ({ class: kind, phrase, behaviour: "" });

it("suspects are counted once, when all of the run is scanned", async () => {
  vi.useFakeTimers();
  const findings = [one("suspect", "a"), one("suspect", "b"), one("earned", "c")];
  vi.mocked(api.askFindings).mockResolvedValue({ run: "r", findings } as RunFindings);
  const session = createSession({ ...START, run: "r" });
  runs.value = [run("text")];
  session.findings.start();
  await vi.runAllTimersAsync();
  expect(api.askFindings).not.toHaveBeenCalled();
  runs.value = [run("ready")];
  runs.value = [run("ready")];
  await vi.runAllTimersAsync();
  expect(api.askFindings).toHaveBeenCalledTimes(1);
  expect(session.findings.suspects.value).toBe(2);
  session.end();
  vi.useRealTimers();
});
