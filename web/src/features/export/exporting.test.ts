import { expect, it } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { callOf, fileOf } from "./exporting";

it("leaves it to the server and to Python what length stands for", () => {
  runs.value = [{ id: "r", name: "r", path: "/r", version: "1", splits: [] } as unknown as RunItem];
  const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, sort: "length" });
  expect(callOf(session, "samples", "jsonl")).toContain('sort="length"');
  expect(fileOf(session, "samples", "csv", true)).toContain("sort=length");
});

it("exports the judgements of the split, as the agreement counts them", () => {
  const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, where: "reward < 1" });
  expect(fileOf(session, "judgements", "pairs", true)).toMatch(/of=judgements&split=train$/);
  expect(callOf(session, "judgements", "pairs")).toContain('run.preference_pairs("train")');
  expect(callOf(session, "judgements", "jsonl")).toContain('split="train", where="judgement is not null"');
});
