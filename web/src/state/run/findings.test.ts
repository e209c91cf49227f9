import { expect, it, vi } from "vitest";
import * as api from "../../api/findings";
import type { FindingsReply, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../runs";
import { createSession } from "../session";

vi.mock("../../api/findings", () => ({ getFindings: vi.fn<typeof api.getFindings>() }));

const run = (phase: string): RunItem => ({ id: "r", splits: [{ name: "train" }], progress: { phase } }) as RunItem;
const one = (kind: string, phrase: string) => ({ class: kind, phrase, behaviour: "" });

it("suspects are counted once, when all of the run is scanned", async () => {
  vi.useFakeTimers();
  const findings = [one("suspect", "a"), one("suspect", "b"), one("earned", "c")];
  vi.mocked(api.getFindings).mockResolvedValue({ run: "r", findings } as FindingsReply);
  const session = createSession({ ...START, run: "r" });
  runs.value = [run("text")];
  session.findings.start();
  await vi.runAllTimersAsync();
  expect(api.getFindings).not.toHaveBeenCalled();
  runs.value = [run("ready")];
  runs.value = [run("ready")];
  await vi.runAllTimersAsync();
  expect(api.getFindings).toHaveBeenCalledTimes(1);
  expect(session.findings.suspects.value).toBe(2);
  session.end();
  vi.useRealTimers();
});
