import { describe, expect, it } from "vitest";
import { byArea, matching, treeOf } from "./tree";

const CONFIG = {
  seed: 3,
  optim: { lr: 0.5, betas: [0.9, 0.95], schedule: { kind: "cosine" } },
  envs: [{ name: "math" }, { name: "code" }],
  empty: {},
};

describe("a configuration as a tree", () => {
  it("has branches for dictionaries and lists, and short lists of plain values in a line", () => {
    const tree = treeOf(CONFIG);
    expect(tree.values).toBe(7);
    expect(tree.children?.map(({ name, text, values }) => [name, text, values])).toEqual([
      ["seed", "3", 1],
      ["optim", "", 3],
      ["envs", "", 2],
      ["empty", "{}", 1],
    ]);
    expect(tree.children?.[1]?.children?.[1]?.text).toBe("[0.9, 0.95]");
    expect(tree.children?.[2]?.isList).toBe(true);
  });
  it("is searched by ways and values, and opens to what has every word", () => {
    const { tree, count } = matching(treeOf(CONFIG), "optim Cos", 10);
    expect(count).toBe(1);
    expect(tree?.children?.map(({ name }) => name)).toEqual(["optim"]);
    expect(tree?.children?.[0]?.children?.[0]?.children?.[0]).toMatchObject({ name: "kind", text: "cosine" });
    expect(matching(treeOf(CONFIG), "envs.1.name", 10).count).toBe(1);
    expect(matching(treeOf(CONFIG), "nowhere", 10)).toEqual({ tree: null, count: 0 });
  });
  it("of a hundred thousand keys holds as many matches as are wanted, and counts all", () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]));
    const began = performance.now();
    const tree = treeOf({ many });
    const found = matching(tree, "key", 200);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(found.count).toBe(100_000);
    expect(found.tree?.values).toBe(200);
  });
});

it("has a flat configuration by areas", () => {
  const flat = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i < 5 ? "vllm" : `k${i}`}_${i}`, i]));
  const tree = byArea(treeOf({ ...flat, "optim.lr": 1 }));
  expect(tree.children?.[0]).toMatchObject({ name: "vllm_…", values: 5 });
  expect(tree.children).toHaveLength(37);
  expect(tree.children?.[0]?.children?.[0]?.name).toBe("vllm_0");
  expect(byArea(treeOf({ vllm_a: 1, vllm_b: 2, vllm_c: 3, vllm_d: 4 })).children).toHaveLength(4);
});
