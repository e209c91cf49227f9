import { expect, it, vi } from "vitest";
import * as api from "../../api";
import { item } from "../../testing/records";
import { loadMarkedSamples } from "./markedSamples";

vi.mock(import("../../api"), async (original) => ({ ...(await original()), getMarked: vi.fn<typeof api.getMarked>() }));

it("asks for the samples of marks in parts, for as long as they are wanted", async () => {
  vi.mocked(api.getMarked).mockImplementation(async (run, before = 3) => {
    if (run === "broken") throw new api.ApiError(409, "rewritten", "");
    return { run, samples: [{ name: `${run}${before}`, sample: item(before) }], before: before - 1 };
  });
  const names: string[] = [];
  const tell = (_: string, marks: ReadonlyMap<string, unknown>): boolean => {
    names.push(...marks.keys());
    return names.length < 5;
  };
  await loadMarkedSamples(["a", "broken", "b", "c"], tell);
  expect(names).toEqual(["a3", "a2", "a1", "b3", "b2"]);
});
