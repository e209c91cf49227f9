import { signal } from "@preact/signals";
import { expect, it, vi } from "vitest";
import type { ColumnItem, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address";
import { place } from "../../state/place";
import { runs } from "../../state/runs";
import { callOf, fileOf } from "./exporting";

const known = vi.hoisted(() => new Set<string>());
vi.mock("../../state/columns", () => ({ columnOf: (name: string): ColumnItem | null => (known.has(name) ? ({ name } as ColumnItem) : null), columns: signal([]) }));

it("sorts by length as the list does: by characters where no sample tells its tokens", () => {
  runs.value = [{ id: "r", name: "r", path: "/r", version: "1", splits: [] } as unknown as RunItem];
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sort: "length" };
  expect(callOf("samples")).toContain('sort="response_chars"');
  known.add("response_tokens");
  expect(callOf("samples")).toContain('sort="response_tokens"');
  known.add("length");
  expect(callOf("samples")).toContain('sort="length"');
  expect(fileOf("samples", "csv", true)).toContain("sort=length");
});
