import { signal } from "@preact/signals";
import { expect, it, vi } from "vitest";
import type { RunItem } from "../../api/types.gen";
import { START } from "../../lib/address";
import { place } from "../../state/place";
import { runs } from "../../state/runs";
import { find } from "./palette";

vi.mock("../../state/columns", () => ({
  columns: signal([{ name: "response_tokens", kind: "number" }, { name: "format_bonus", kind: "number" }, { name: "env", kind: "text" }]),
  label: (name: string) => (name === "response_tokens" ? "Response tokens" : name),
}));

vi.mock("../../api", async (original) => ({
  ...(await original<typeof import("../../api")>()),
  getSamples: vi.fn(async (_: string, { where }: { where: string }) => ({ samples: where === "number = 40" ? [{ id: "train/1/g/rank0:9" }] : [] })),
}));

it("goes to a sample by its number in the step", async () => {
  runs.value = [{ id: "r", name: "r", format: "", path: "/r", splits: [], problems: 0 } as unknown as RunItem];
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  find("#41")[0]?.choice.act();
  find("#40")[0]?.choice.act();
  await vi.waitFor(() => expect(place.value.sample).toBe("train/1/g/rank0:9"));
  expect(find("40").some(({ choice }) => choice.key === "number")).toBe(false);
});

it("finds a metric by its name and in words, and sorts the list by it", () => {
  runs.value = [{ id: "r", name: "r", format: "", path: "/r", splits: [], problems: 0 } as unknown as RunItem];
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  expect(find("env").some(({ choice }) => choice.kind === "metric")).toBe(false);
  expect(find("response_tok")[0]?.choice).toMatchObject({ kind: "metric", words: "Response tokens" });
  find("bonus")[0]?.choice.act();
  expect(place.value).toMatchObject({ page: "rollouts", sort: "format_bonus", descending: true });
});
