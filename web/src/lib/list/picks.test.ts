import { expect, it } from "vitest";
import { picksIn, withPicks } from "./picks";

it("reads the values that a filter asks for", () => {
  expect(picksIn("", "env")).toEqual([]);
  expect(picksIn("env = math", "env")).toEqual(["math"]);
  expect(picksIn('reward > 0 and env in (math, "a ""b"" c") and turns = 1', "env")).toEqual(["math", '"a ""b"" c"']);
  expect(picksIn("env = math or turns = 1", "env")).toEqual([]);
  expect(picksIn("myenv = math", "env")).toEqual([]);
  expect(picksIn('"tag.status" = ok', "tag.status")).toEqual([]);
  expect(picksIn("tag.status = ok", "tag.status")).toEqual(["ok"]);
  expect(picksIn("tagxstatus = ok", "tag.status")).toEqual([]);
});

it("writes them in place of the values before, and leaves the rest of the filter", () => {
  expect(withPicks("", "env", ["math"])).toBe("env = math");
  expect(withPicks("env = math", "env", ["math", "code"])).toBe("env in (math, code)");
  expect(withPicks("reward > 0 and env in (math, code) and turns = 1", "env", ["code"])).toBe(
    "reward > 0 and env = code and turns = 1",
  );
  expect(withPicks("env = math and turns = 1", "env", [])).toBe("turns = 1");
  expect(withPicks("reward > 0 and env = math", "env", [])).toBe("reward > 0");
  expect(withPicks("env = math", "env", [])).toBe("");
  expect(withPicks("reward > 0 or turns = 1", "env", ["math"])).toBe("(reward > 0 or turns = 1) and env = math");
});
