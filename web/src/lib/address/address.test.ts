import { chart } from "../charts/chart";
import { describe, expect, it } from "vitest";
import { format, MAX_COLUMNS, MAX_OVER, moved, parse, scopeOf, START } from "./address";

describe("an address of all evaluations", () => {
  it("stays one when a sample of theirs is read, and no other", () => {
    expect(parse("runs/r", "split=eval&step=3&sample=eval/a/3/0/1")).toMatchObject({
      split: "eval",
      step: 3,
      sample: "eval/a/3/0/1",
    });
    expect(parse("runs/r", "split=eval&sample=train/2/0/1")).toMatchObject({ split: "train", step: 2 });
    expect(parse("runs/r", "split=train&sample=eval/a/3/0/1")).toMatchObject({ split: "eval/a" });
    expect(parse("runs/r", "sample=eval/a/3/0/1")).toMatchObject({ split: "eval/a" });
    expect(format(parse("runs/r", "split=eval&step=3&sample=eval/a/3/0/1"))).toContain("split=eval&");
  });
});

describe("addresses", () => {
  it("read back as what they were written from", () => {
    const place = {
      ...START,
      page: "rollouts" as const,
      run: "a/b ü?#",
      split: "eval/x y",
      step: 12,
      sample: "eval/x y/12/g%2F1/7~2",
      view: "raw" as const,
      sort: "my metric" as string,
      descending: true,
      list: true,
      mode: "table" as const,
      extent: [null, 7] as const,
      where: "reward < 0.1 and x = 'a&b'",
      columns: ["a,b", "reward"],
      charts: [chart("sample", "kl/mean"), chart("sample", "a=b&c"), chart("token", "kl", { stat: "max" })],
      over: ["b", "c d&"],
    };
    const [path = "", query = ""] = format(place).split("?");
    expect(parse(path, query)).toEqual({ ...place, split: "eval/x y" });
  });
  it("take split and step from the sample", () => {
    expect(parse("runs/r", "sample=train/3/0/1&step=9&split=other")).toMatchObject({ split: "train", step: 3 });
  });
  it("of pages above the runs remember the run, and what is sought", () => {
    const place = { ...START, page: "bookmarks" as const, run: "r", find: "a&b=c", all: true };
    expect(parse("bookmarks", format(place).split("?")[1] ?? "")).toEqual(place);
  });
  it("take the run that is looked at out of those drawn over it", () => {
    expect(parse("runs/r", "over=r&over=a&over=a&over=").over).toEqual(["a"]);
    expect(moved({ ...START, page: "rollouts", run: "r", over: ["a", "b"] }, { run: "a" }).over).toEqual(["b"]);
    expect(parse("runs/r", Array.from({ length: MAX_OVER + 50 }, (_, i) => `over=${i}`).join("&")).over).toHaveLength(
      MAX_OVER,
    );
  });
  it("survive anything", () => {
    for (const path of ["", "//", "runs", "runs/%", "runs/%E0%A4", "nonsense/x", "settings"]) {
      expect(() => parse(path, "step=1e9&sample=%&sort=__proto__&view=constructor")).not.toThrow();
    }
    expect(parse("runs/r", Array.from({ length: 3000 }, (_, i) => `column=${i}`).join("&")).columns).toHaveLength(
      MAX_COLUMNS,
    );
    expect(scopeOf("a/b/c")).toBeNull();
    expect(scopeOf("%/1/2/3")).toBeNull();
  });
  it("hold a search", () => {
    const search = {
      text: "a&b=\\d+ 😀",
      regex: true,
      case: false,
      word: true,
      role: "user",
      everywhere: true,
      oldest: true,
    };
    for (const page of ["search", "rollouts"] as const) {
      const place = {
        ...START,
        page,
        run: "a/b",
        split: "train",
        step: 3,
        extent: "run" as const,
        where: "reward < 1",
        search,
      };
      const [path = "", query = ""] = format(place).split("?");
      expect(parse(path, query)).toEqual(place);
    }
    expect(format({ ...START, page: "search", search: { ...search, text: "x".repeat(1e4) } }).length).toBeLessThan(100);
    expect(parse("search", "").run).toBeNull();
  });
  it("keep the scope while the page chooses a step, and go to the step that a person chooses", () => {
    const place = { ...START, page: "search" as const, run: "r", extent: "run" as const };
    expect(moved(moved(place, { split: "train" }), { step: 3 }).extent).toBe("run");
    expect(moved({ ...place, split: "train", step: 3 }, { step: 4 }).extent).toBe("step");
  });
  it("say of which steps the list is", () => {
    for (const extent of ["run", [1, 5], [null, 5], [-3, null]] as const) {
      const [path = "", query = ""] = format({ ...START, page: "rollouts", run: "r", extent }).split("?");
      expect(parse(path, query).extent).toEqual(extent);
    }
    expect(parse("runs/r", "scope=nonsense").extent).toBe("step");
  });
  it("lead to a piece of a report, and forget it at another step", () => {
    const place = { ...START, page: "report" as const, run: "r", split: "train", step: 3, at: "0.3.1" };
    expect(format(place)).toBe("runs/r/report?split=train&step=3&at=0.3.1");
    expect(parse("runs/r/report", "split=train&step=3&at=0.3.1")).toEqual(place);
    expect([moved(place, { step: 4 }).at, moved(place, { page: "run" }).at, moved(place, { list: true }).at]).toEqual([
      "",
      "",
      "0.3.1",
    ]);
    expect(parse("runs/r/report", "at=..%2F1").at).toBe("");
    expect(parse("runs/r", "at=1").at).toBe("");
  });
  it("go to the top of a list that is sorted anew", () => {
    const place = {
      ...START,
      page: "rollouts" as const,
      run: "r",
      split: "train",
      step: 2,
      sample: "train/2/0/0",
      extent: "run" as const,
    };
    expect(moved(place, { sort: "reward", descending: true })).toMatchObject({
      step: 2,
      extent: "run",
      sample: null,
      sort: "reward",
    });
    expect(moved({ ...place, sort: "reward" }, { sort: "reward" }).sample).toBe("train/2/0/0");
  });
  it("keep the list of a run when another sample is chosen, and leave it for another step", () => {
    const place = {
      ...START,
      page: "rollouts" as const,
      run: "r",
      split: "train",
      step: 2,
      sample: "train/2/0/0",
      extent: "run" as const,
      where: "x = 1",
    };
    expect(moved(place, { sample: "train/5/0/0" })).toMatchObject({ step: 5, extent: "run", where: "x = 1" });
    expect(moved(place, { step: 3 })).toMatchObject({ step: 3, extent: "step", sample: null, where: "x = 1" });
    expect(moved(place, { run: "other" })).toMatchObject({ extent: "step", where: "", columns: null });
  });
  it("hold the charts of the page of metrics, which are no other page's", () => {
    const text = "runs/r/metrics?split=train&chart=reward&chart=%3Fkind%3Dgroup%26name%3Dmixed&ema=0&log=1";
    const place = parse("runs/r/metrics", text.split("?").slice(1).join("?"));
    expect(place).toMatchObject({ charts: [chart("sample", "reward"), chart("group", "mixed")], ask: { ema: "0" } });
    expect(format(place)).toBe(text);
    expect(moved(place, { step: 3 }).charts).toHaveLength(2);
    expect(moved(place, { page: "rollouts" }).charts).toBeNull();
    expect(moved(place, { run: "s" })).toMatchObject({ page: "metrics", run: "s", charts: null, ask: { ema: "0" } });
    expect(moved({ ...place, page: "evals" }, { run: "s" })).toMatchObject({ page: "rollouts", ask: {} });
    expect(moved({ ...place, page: "rollouts" }, { page: "metrics" }).charts).toBeNull();
    expect(moved({ ...place, page: "rollouts" }, { page: "evals" }).charts).toHaveLength(2);
  });
  it("leave to the page what depended on what changed", () => {
    const place = { ...START, page: "rollouts" as const, run: "r", split: "train", step: 2, sample: "train/2/0/0" };
    expect(moved(place, { step: 1 })).toMatchObject({ split: "train", step: 1, sample: null });
    expect(moved(place, { split: "eval/x" })).toMatchObject({ split: "eval/x", step: null, sample: null });
    expect(moved(place, { run: "other" })).toMatchObject({ run: "other", split: null, step: null, sample: null });
  });
});

describe("a group that stands together", () => {
  const query = "sample=train/1/g/3&view=group&against=train/1/g/0&diff=1&only=train/1/g/3&only=train/1/g/4";
  it("has an address that gives it back", () => {
    const place = parse("runs/r", query);
    expect(place).toMatchObject({
      view: "group",
      against: "train/1/g/0",
      isDiff: true,
      isTable: false,
      only: ["train/1/g/3", "train/1/g/4"],
    });
    expect(parse(...(format(place).split("?") as [string, string]))).toEqual(place);
    expect(format({ ...place, view: "transcript" })).toBe("runs/r?split=train&step=1&sample=train/1/g/3");
  });
  it("keeps what is of the group when another of its samples is gone to, and nothing at another group", () => {
    const place = parse("runs/r", query);
    expect(moved(place, { sample: "train/1/g/4" })).toMatchObject({
      against: "train/1/g/0",
      only: ["train/1/g/3", "train/1/g/4"],
      isDiff: true,
    });
    expect(moved(place, { sample: "train/1/g/5" })).toMatchObject({ against: "train/1/g/0", only: [] });
    expect(moved(place, { sample: "train/1/h/3" })).toMatchObject({ view: "group", against: null, only: [] });
    expect(moved(place, { step: 2 })).toMatchObject({ view: "group", sample: null });
  });
});

describe("the view of tokens", () => {
  it("has its form and its current token in the address, which another sample leaves behind", () => {
    const query = "split=train&step=1&sample=train/1/g/3&view=tokens&as=table&token=412";
    const place = parse("runs/r", query);
    expect(place).toMatchObject({ view: "tokens", tokensAs: "table", token: 412 });
    expect(format(place)).toBe(`runs/r?${query}`);
    expect(format({ ...place, view: "transcript" })).not.toContain("token");
    expect(moved(place, { sample: "train/1/g/4" })).toMatchObject({ tokensAs: "table", token: null });
    expect(moved(place, { sample: "train/1/g/4", token: 7 }).token).toBe(7);
    expect(moved(place, { token: 8 }).token).toBe(8);
    const there = moved(place, { sample: "train/1/g/4", toDifference: true });
    expect([format(there), parse("runs/r", format(there).split("?")[1] ?? "").toDifference]).toEqual([
      "runs/r?split=train&step=1&sample=train/1/g/4&view=tokens&as=table&token=difference",
      true,
    ]);
    expect(moved(there, { sample: "train/1/g/5" }).toDifference).toBe(false);
    expect(format(parse("runs/r", "view=tokens&as=update&of=step"))).toBe("runs/r?view=tokens&as=update&of=step");
    const pair = parse("runs/r", "sample=train/1/g/3&view=tokens&beside=train/1/g/4");
    expect(format(pair)).toContain("&beside=train/1/g/4");
    const after = (sample: string): string | null => moved(pair, { sample }).beside;
    expect(["train/1/g/5", "train/1/g/4", "train/1/h/5"].map(after)).toEqual(["train/1/g/4", null, null]);
    expect(format(parse("runs/r", "view=tokens&as=table&of=step"))).toBe("runs/r?view=tokens&as=table");
    expect(parse("runs/r", "view=tokens&token=-1&as=x")).toMatchObject({ tokensAs: "text", token: null });
  });
  it("has its series, its scales, its rules with what the reader moved, and its weights in the address", () => {
    const query =
      "view=tokens&as=update&of=step&colour=kl&scale=log:clip:kl&scale=linear:-0.5..2:a:b" +
      "&rule=dapo:low=0.1,high=1e-7&rule=ipo&weights=sequence_mean";
    const place = parse("runs/r", query);
    expect(place).toMatchObject({
      colour: "kl",
      scales: { kl: { kind: "log", ends: "clip" }, "a:b": { kind: "linear", ends: "fixed", low: -0.5, high: 2 } },
      rules: [
        { name: "dapo", thresholds: { low: 0.1, high: 1e-7 } },
        { name: "ipo", thresholds: {} },
      ],
      updateWeights: "sequence_mean",
    });
    expect(decodeURIComponent(format(place))).toBe(`runs/r?${query}`);
    expect(moved(place, { sample: "train/1/g/4" })).toMatchObject({ colour: "kl", rules: place.rules });
    expect(moved(place, { run: "other" })).toMatchObject({ colour: "", scales: {}, rules: null });
    expect(format(parse("runs/r", "view=tokens&mask="))).toBe("runs/r?view=tokens&rule=");
    expect(format(parse("runs/r", "view=tokens&mask=ipo"))).toBe("runs/r?view=tokens&rule=ipo");
    expect(format(parse("runs/r", "view=tokens&as=table&row=kl&row=b"))).toBe(
      "runs/r?view=tokens&as=table&row=kl&row=b",
    );
    const odd = "view=tokens&scale=x:clip:kl&scale=log:1..x:kl&scale=log&rule=a:b=x,=1,c&rule=b&rule=c&weights=y";
    expect(format(parse("runs/r", odd))).toBe("runs/r?view=tokens&rule=a&rule=b");
  });
});
