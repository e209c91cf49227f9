import { expect, it } from "vitest";
import { catalogueEntry as entry } from "../../../testing/catalogue";
import { foundIn, sourceOf } from "./sources";

const ENTRIES = [
  entry("sample", "entropy", "Sample metrics"),
  entry("token", "entropy", "Tokens", { title: "Entropy" }),
  entry("trainer", "entropy"),
  entry("trainer", "optim/entropy", "optim", { title: "entropy" }),
  entry("sample", "reward", "Reward", { title: "Reward" }),
];

it("tells curves of one title apart", () => {
  expect(ENTRIES.map(sourceOf)).toEqual([
    "samples",
    "tokens · entropy",
    "trainer",
    "trainer · optim/entropy",
    "samples · reward",
  ]);
  expect(new Set(ENTRIES.map((one) => `${one.title} ${sourceOf(one)}`)).size).toBe(ENTRIES.length);
});

it("finds curves by words of their title, name or source", () => {
  const names = (letters: string) => foundIn(ENTRIES, letters).map(({ kind, name }) => `${kind} ${name}`);
  expect(names("")).toHaveLength(5);
  expect(names("optim ent")).toEqual(["trainer optim/entropy"]);
  expect(names("entropy trainer")).toEqual(["trainer entropy", "trainer optim/entropy"]);
  expect(names("nothing")).toEqual([]);
});
