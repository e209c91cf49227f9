import { describe, expect, it } from "vitest";
import { asksForReason, condition, namesIn, narrowed, quoted } from "./filter";

describe("filters as text", () => {
  it("quotes what would be read as something else", () => {
    expect([quoted("status"), quoted("a b"), quoted("12"), quoted("or"), quoted('say "x"'), quoted("f(x)")]).toEqual([
      "status",
      '"a b"',
      '"12"',
      '"or"',
      '"say ""x"""',
      '"f(x)"',
    ]);
  });
  it("says conditions on numbers, texts and nothing", () => {
    expect(condition("reward", "=", 0.5, true)).toBe("reward = 0.5");
    expect(condition("reward", "!=", "NaN", true)).toBe("reward != NaN");
    expect(condition("group", "=", "7", false)).toBe('group = "7"');
    expect(condition("env", "=", "", false)).toBe("env is null");
    expect(condition("my tag", "!=", null, false)).toBe('"my tag" is not null');
  });
  it("narrows what is there", () => {
    expect(narrowed("", "a = 1")).toBe("a = 1");
    expect(narrowed("a = 1", "b = 2")).toBe("a = 1 and b = 2");
    expect(narrowed("a = 1 or c = 3", "b = 2")).toBe("(a = 1 or c = 3) and b = 2");
  });
  it("know which of them only what was discarded can fulfil", () => {
    for (const where of [
      "discarded = stale",
      "reward < 1 and (discarded=stale)",
      '"discarded" in (a, b)',
      "discarded contains st",
      "discarded is not null",
      'discarded = "or not"',
    ]) {
      expect([where, asksForReason(where)]).toEqual([where, true]);
    }
    for (const where of [
      "",
      "reward < 1",
      "status = discarded",
      'env = "discarded = stale"',
      "discarded is null",
      "discarded != stale",
      "not discarded = stale",
      "discarded = a or reward > 1",
      "undiscarded = 1",
    ]) {
      expect([where, asksForReason(where)]).toEqual([where, false]);
    }
  });
});

describe("the names in a filter", () => {
  it("are what it compares, in any spelling, and no values or words in quotes", () => {
    const where = `max_kl > 1 and ("a ""b" is not null or status in (done)) and token "x = 1"`;
    expect(namesIn(`${where} and env = 'y > 1' and max_kl<3`)).toEqual(["max_kl", 'a "b', "status", "env"]);
    expect(namesIn("")).toEqual([]);
  });
});
