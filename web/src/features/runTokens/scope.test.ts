import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { StepsReply } from "../../api/types.gen";
import { format, parse, START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { runItem, splitItem } from "../../testing/records";
import { option, otherStep, setOption } from "./scope";

vi.mock(import("../../api"), async (original) => ({ ...(await original()), getSteps: vi.fn<typeof api.getSteps>() }));
vi.mocked(api.getSteps).mockImplementation(
  async (run, split) => ({ run, split, version: "1", steps: [2, 4, 9] }) as unknown as StepsReply,
);

const session = createSession();

beforeEach(() => {
  runs.value = [runItem({ version: "1", splits: [splitItem()] })];
});

it("compares with the chosen step or the nearest, else the first, or the last beside it, and says why", async () => {
  session.steps.start();
  session.place.now.value = { ...START, page: "tokens", run: "r", split: "train", step: 9 };
  await vi.waitFor(() => expect(otherStep(session)).toEqual({ step: 2, why: "The first step." }));
  setOption(session, { before: "4" });
  expect(otherStep(session)).toEqual({ step: 4, why: "" });
  expect(format(session.place.now.value)).toBe("runs/r/tokens?split=train&step=9&before=4");
  expect(parse("runs/r/tokens", "before=4&bar=1").ask).toEqual({ before: "4" });
  setOption(session, { before: "" });
  session.place.go({ step: 2 });
  expect(otherStep(session)).toEqual({ step: 9, why: "The last step." });
  setOption(session, { before: "999" });
  expect(otherStep(session)).toEqual({ step: 9, why: "There is no step 999: 9 is the nearest." });
  session.place.go({ step: 9 });
  expect(otherStep(session)).toEqual({ step: 4, why: "There is no step 999: 4 is the nearest." });
  expect(option(session, "before")).toBe("999");
});
