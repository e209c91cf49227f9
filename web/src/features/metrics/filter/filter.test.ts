import { expect, it } from "vitest";
import { brief, troubleOf } from "./filter";

const UNKNOWN = "no column 'rewrd'; is it 'reward'? there are: split, step, group, reward, advantage";

it("an error is a sentence, without the names of all columns", () => {
  expect(brief(UNKNOWN)).toBe("no column 'rewrd'; is it 'reward'?");
  expect(brief("no column 'x'; there are: split, step")).toBe("no column 'x'");
  expect(brief("the trainer logged no times")).toBe("the trainer logged no times");
});

it("an error of a filter has its place in the text", () => {
  expect(troubleOf("env = a and rewrd > 1", UNKNOWN)).toEqual({ place: 12, message: brief(UNKNOWN) });
  const ends = "cannot read the filter: at character 9 expected a value, it ends there";
  expect(troubleOf("reward >", ends)).toEqual({ place: 8, message: ends });
  expect([troubleOf("", UNKNOWN), troubleOf("reward > 1", "")]).toEqual([null, null]);
});
