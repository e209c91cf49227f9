import { describe, expect, it } from "vitest";
import { comparedFiles, comparedLines, filesOf, stretchesOf } from "./codeDiff";

const changed = (path: string, ...lines: string[]): string =>
  [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`, "@@ -1,2 +1,2 @@", ...lines, ""].join("\n");

describe("two unified diffs", () => {
  it("are divided by file, with or without the heads of git", () => {
    expect([...filesOf(changed("a.py", "+x") + changed("b c.py", "--- a/minus", "+++ b/plus")).keys()]).toEqual([
      "a.py",
      "b c.py",
    ]);
    const plain = "note\n--- a/one\n+++ b/one\n@@ -1 +1 @@\n-x\n+y\n--- two\t2026\n+++ two\t2026\n+z\n";
    expect([...filesOf(plain)].map(([path, lines]) => [path, lines.length])).toEqual([
      ["", 1],
      ["one", 5],
      ["two", 3],
    ]);
    expect(filesOf("").size).toBe(0);
  });
  it("have the files that differ first, and lose no line", () => {
    const first = changed("same.py", "+a") + changed("gone.py", "+b") + changed("other.py", "+c");
    const second = changed("new.py", "+d") + changed("same.py", "+a") + changed("other.py", "+C");
    const files = comparedFiles(first, second);
    expect(files.map(({ path, state }) => [path, state])).toEqual([
      ["other.py", "differs"],
      ["gone.py", "first"],
      ["new.py", "second"],
      ["same.py", "same"],
    ]);
    expect(files.flatMap((file) => file.first).length).toBe(first.trim().split("\n").length);
    expect(files.flatMap((file) => file.second).length).toBe(second.trim().split("\n").length);
  });
  it("stand line by line, and hold each side whole", () => {
    const [left, right] = [
      ["a", "b", "c", "d"],
      ["a", "x", "y", "c", "d", "e"],
    ];
    const lines = comparedLines(left, right);
    expect(lines.map(({ isSame }) => isSame)).toEqual([true, false, false, true, true, false]);
    expect(lines.flatMap(({ first }) => first ?? [])).toEqual(left);
    expect(lines.flatMap(({ second }) => second ?? [])).toEqual(right);
  });
  it("differ in all lines where comparing takes too long", () => {
    const [left, right] = [0, 1].map((side) => Array.from({ length: 400 }, (_, at) => `${(at * 7919 + side) % 401}`));
    const lines = comparedLines(left ?? [], right ?? [], 0);
    expect(lines.every(({ isSame }) => !isSame)).toBe(true);
    expect(lines.flatMap(({ second }) => second ?? [])).toEqual(right);
  });
  it("fold the lines that are the same, except those around a difference", () => {
    const lines = Array.from({ length: 20 }, (_, at) => ({ first: `${at}`, second: `${at}`, isSame: at !== 10 }));
    expect(stretchesOf(lines, 2).map((one) => [one.isFolded, one.lines.length])).toEqual([
      [true, 8],
      [false, 5],
      [true, 7],
    ]);
    expect(stretchesOf([])).toEqual([]);
  });
});
