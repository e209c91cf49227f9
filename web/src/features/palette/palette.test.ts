import { createSession } from "../../state/session";
import { signal } from "@preact/signals";
import { expect, it, vi } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { find } from "./palette";

const session = createSession();

Object.assign(session.columns, {
  all: signal([
    { name: "response_tokens", kind: "number" },
    { name: "format_bonus", kind: "number" },
    { name: "env", kind: "text" },
    { name: "derived.gave_up", kind: "number", source: "derived", unit: "phrases", low: 0, high: 2 },
    { name: "derived.refusals", kind: "number", source: "derived", unit: "phrases", low: 0, high: 0 },
    { name: "derived.characters", kind: "number", source: "derived", unit: "characters", low: 0, high: 900 },
  ]),
});

vi.mock("../../api", async (original) => ({
  ...(await original<typeof import("../../api")>()),
  getSamples: vi.fn(async (_: string, { where }: { where: string }) => ({
    samples: where === "number = 40" ? [{ id: "train/1/g/rank0:9" }] : [],
  })),
}));

it("goes to a sample by its number in the step", async () => {
  runs.value = [{ id: "r", name: "r", format: "", path: "/r", splits: [], problems: 0 } as unknown as RunItem];
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  find(session, "#41")[0]?.choice.act();
  find(session, "#40")[0]?.choice.act();
  await vi.waitFor(() => expect(session.place.now.value.sample).toBe("train/1/g/rank0:9"));
  expect(find(session, "40").some(({ choice }) => choice.key === "number")).toBe(false);
});

it("finds a metric by its name and in words, and sorts the list by it", () => {
  runs.value = [{ id: "r", name: "r", format: "", path: "/r", splits: [], problems: 0 } as unknown as RunItem];
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  expect(find(session, "env").some(({ choice }) => choice.kind === "metric")).toBe(false);
  expect(find(session, "response_tok")[0]?.choice).toMatchObject({ kind: "metric", words: "Response tokens" });
  find(session, "bonus")[0]?.choice.act();
  expect(session.place.now.value).toMatchObject({ page: "rollouts", sort: "format_bonus", descending: true });
});

it("shows the samples of the run that have a behaviour, and says if none has it", () => {
  runs.value = [{ id: "r", name: "r", format: "", path: "/r", splits: [], problems: 0 } as unknown as RunItem];
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, where: "" };
  expect(find(session, "refusals")[0]?.choice.more).toContain("none in this split");
  find(session, "derived.char")[0]?.choice.act();
  expect(session.place.now.value).toMatchObject({ sort: "derived.characters", where: "", extent: "step" });
  find(session, "gave_up")[0]?.choice.act();
  expect(session.place.now.value).toMatchObject({
    sort: "derived.gave_up",
    where: "derived.gave_up > 0",
    extent: "run",
  });
});
