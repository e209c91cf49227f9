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

it("compares with the chosen step, else with the first, and the first with the last", async () => {
  session.steps.start();
  session.place.now.value = { ...START, page: "tokens", run: "r", split: "train", step: 9 };
  await vi.waitFor(() => expect(otherStep(session)).toBe(2));
  setOption(session, { before: "4" });
  expect(otherStep(session)).toBe(4);
  expect(format(session.place.now.value)).toBe("runs/r/tokens?split=train&step=9&before=4");
  expect(parse("runs/r/tokens", "before=4&bar=1").ask).toEqual({ before: "4" });
  setOption(session, { before: "5" }); // no such step
  session.place.go({ step: 2 });
  expect([otherStep(session), option(session, "before")]).toEqual([9, "5"]);
});
