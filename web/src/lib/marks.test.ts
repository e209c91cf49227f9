import { describe, expect, it } from "vitest";
import type { StateItem } from "../api/types.gen";
import { isEmpty, keyOf, merged, NO_RUN_MARK, NO_SAMPLE_MARK, ownerOf, valueOf } from "./marks";

const item = (version: number, note: string, name = "train/0/0/1"): StateItem => ({
  kind: "sample",
  owner: "k",
  name,
  version,
  changed_s: 0,
  by: "",
  shared: false,
  run_mark: null,
  setting: null,
  sample_mark: { ...NO_SAMPLE_MARK, note },
});

describe("what a person added", () => {
  it("takes the newer of two, whichever comes first", () => {
    const key = keyOf("sample", "k", "train/0/0/1");
    expect(merged(merged(new Map(), [item(2, "new")]), [item(1, "old")]).get(key)?.version).toBe(2);
    expect(merged(merged(new Map(), [item(1, "old")]), [item(2, "new")]).get(key)?.version).toBe(2);
  });
  it("knows a removed item, whose version still counts", () => {
    const removal = { ...item(3, ""), sample_mark: null };
    expect(valueOf(removal)).toBeNull();
    expect(merged(merged(new Map(), [removal]), [item(2, "old")]).size).toBe(1);
    expect([...merged(merged(new Map(), [removal]), [item(2, "old")]).values()][0]).toBe(removal);
  });
  it("is empty where it says nothing", () => {
    expect(isEmpty(NO_RUN_MARK) && isEmpty(NO_SAMPLE_MARK) && isEmpty({}) && isEmpty(null)).toBe(true);
    expect(
      isEmpty({ ...NO_RUN_MARK, hidden: true }) ||
        isEmpty({ ...NO_SAMPLE_MARK, note: "x" }) ||
        isEmpty({ theme: "dark" }),
    ).toBe(false);
  });
  it("finds the key of an open run", () => {
    const owners = [
      { owner: "k1", run: "", name: "", format: "", path: "" },
      { owner: "k2", run: "r", name: "", format: "", path: "" },
    ];
    expect(ownerOf(owners, "r")).toBe("k2");
    expect(ownerOf(owners, "other")).toBe("");
  });
});
