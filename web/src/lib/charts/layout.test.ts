import { describe, expect, it } from "vitest";
import { chartOfEntry } from "./catalogue";
import { chart, textOf } from "./chart";
import {
  added,
  altered,
  chartsIn,
  duplicated,
  fileOf,
  idOf,
  joined,
  layoutInFile,
  movedBy,
  movedTo,
  parted,
  placedOf,
  renamed,
  sectionMoved,
  sectionRenamed,
} from "./layout";
import { catalogueEntry as entry } from "../../testing/catalogue";

const CATALOGUE = [
  entry("sample", "reward", "Reward"),
  entry("group", "mixed", "Groups"),
  entry("group", "all_best", "Groups"),
  entry("trainer", "kl", "Trainer"),
];
const [REWARD, MIXED, BEST, KL] = [
  chart("sample", "reward"),
  chart("group", "mixed"),
  chart("group", "all_best"),
  chart("trainer", "kl"),
] as const;
const wordsOf = (charts: readonly { title: string; section: string; chart: { name: string } }[]) =>
  charts.map(({ title, section }) => `${section}: ${title}`);

describe("the charts of a layout", () => {
  it("stand by section in the order in which the layout names them, under the titles it gives", () => {
    const charts = [KL, { ...BEST, title: "Solved" }, { ...REWARD, section: "Trainer" }, chart("trainer", "gone")];
    expect(wordsOf(placedOf(charts, CATALOGUE))).toEqual(["Trainer: kl", "Trainer: reward", "Groups: Solved"]);
  });
  it("are told apart by the reason of their discards", () => {
    const entries = ["", "stale"].map((reason) => entry("share", "discarded", "Length", { reason, title: reason }));
    const charts = entries.map(chartOfEntry);
    expect(placedOf(charts, entries).map(({ title }) => title)).toEqual(["", "stale"]);
    expect(charts.map(textOf)).toEqual(["discarded", "?kind=share&name=discarded&reason=stale"]);
  });
  it("are added where the catalogue has them", () => {
    const placed = placedOf([REWARD, MIXED, KL], CATALOGUE);
    expect(added(placed, entry("group", "all_best", "Groups"), CATALOGUE)).toEqual([REWARD, MIXED, BEST, KL]);
    expect(added([], entry("trainer", "kl", "Trainer"), CATALOGUE)).toEqual([KL]);
  });
  it("take the place and the section of others", () => {
    const placed = placedOf([REWARD, MIXED, BEST, KL], CATALOGUE);
    const order = (charts: Parameters<typeof placedOf>[0]) => wordsOf(placedOf(charts, CATALOGUE));
    expect(order(movedTo(placed, 3, 1))).toEqual(["Reward: reward", "Groups: kl", "Groups: mixed", "Groups: all_best"]);
    expect(order(movedTo(placed, 0, 2))).toEqual([
      "Groups: mixed",
      "Groups: all_best",
      "Groups: reward",
      "Trainer: kl",
    ]);
    expect(order(movedTo(placed, 0, 9))).toEqual(order([REWARD, MIXED, BEST, KL]));
  });
  it("go on by one place, or into the next section", () => {
    const placed = placedOf([REWARD, MIXED, BEST, KL], CATALOGUE);
    expect(movedBy(placed, 1, 1).map(({ name }) => name)).toEqual(["reward", "all_best", "mixed", "kl"]);
    expect(wordsOf(placedOf(movedBy(placed, 2, 1), CATALOGUE))).toEqual([
      "Reward: reward",
      "Groups: mixed",
      "Trainer: all_best",
      "Trainer: kl",
    ]);
    expect(movedBy(placed, 3, 1)).toEqual([REWARD, MIXED, BEST, KL]);
  });
  it("have the title of the catalogue again once their own is taken away", () => {
    const placed = placedOf([REWARD, KL], CATALOGUE);
    const named = renamed(placed, 1, "  Distance ", CATALOGUE);
    expect(named).toEqual([REWARD, { ...KL, title: "Distance" }]);
    for (const title of ["", " ", "kl"])
      expect(renamed(placedOf(named, CATALOGUE), 1, title, CATALOGUE)).toEqual([REWARD, KL]);
  });
});

describe("a chart of several curves", () => {
  const placed = placedOf([REWARD, { ...KL, look: { x: "step" } }], CATALOGUE);
  it("gains each curve once, up to the number of colours", () => {
    const charts = joined(placedOf(joined(placed, 1, "reward"), CATALOGUE), 1, "reward");
    expect(charts[1]?.more).toEqual(["reward"]);
    expect(joined(placed, 1, "trainer.kl")).toEqual([REWARD, { ...KL, look: { x: "step" } }]);
    const all = Array.from({ length: 12 }, (_, i) => `m${i}`).reduce(
      (some, text) => joined(placedOf(some, CATALOGUE), 0, text),
      [REWARD],
    );
    expect(all[0]?.more).toHaveLength(7);
    expect(placedOf(charts, CATALOGUE)[1]?.series.map(({ title }) => title)).toEqual(["reward"]);
  });
  it("loses one, and the next takes the place of the first", () => {
    const both = placedOf([{ ...KL, more: ["reward", "gone"], look: { log: "1" } }], CATALOGUE);
    expect(parted(both, 0, "reward")).toEqual([{ ...KL, more: ["gone"], look: { log: "1" } }]);
    expect(parted(both, 0, "trainer.kl")).toEqual([
      { ...REWARD, section: "Trainer", more: ["gone"], look: { log: "1" } },
    ]);
  });
  it("comes back from its text, as do looks and copies", () => {
    const one = chart("trainer", "kl", { more: ["a&b", "?kind=token&name=kl"], look: { x: "trainer.lr" }, copy: "2" });
    expect(chartsIn({ charts: [textOf(one), textOf({ ...one, copy: "" }), textOf(one)] })).toEqual([
      one,
      { ...one, copy: "" },
    ]);
  });
});

describe("a second chart of a curve", () => {
  it("is as the first one and follows the page, and has a number that no other has", () => {
    const two = duplicated(placedOf([{ ...REWARD, look: { band: "2" } }, KL], CATALOGUE), 0);
    expect(two.map(({ look, copy }) => [look, copy])).toEqual([
      [{ band: "2" }, ""],
      [{ band: "2" }, "2"],
      [{}, ""],
    ]);
    const three = duplicated(placedOf(two, CATALOGUE), 0);
    expect(new Set(three.map(idOf)).size).toBe(4);
    expect(altered(placedOf(two, CATALOGUE), 1, { band: "", log: "1" })[1]?.look).toEqual({ log: "1" });
  });
});

describe("sections", () => {
  it("have another title, and that of the catalogue again", () => {
    const placed = placedOf([REWARD, MIXED, BEST], CATALOGUE);
    const named = sectionRenamed(placed, "Groups", " Mine ", CATALOGUE);
    expect(named).toEqual([REWARD, { ...MIXED, section: "Mine" }, { ...BEST, section: "Mine" }]);
    for (const title of ["Groups", ""])
      expect(sectionRenamed(placedOf(named, CATALOGUE), "Mine", title, CATALOGUE)).toEqual([REWARD, MIXED, BEST]);
  });
  it("move as a whole", () => {
    const placed = placedOf([REWARD, MIXED, BEST, KL], CATALOGUE);
    expect(sectionMoved(placed, "Groups", -1)).toEqual([MIXED, BEST, REWARD, KL]);
    expect(sectionMoved(placed, "Groups", 1)).toEqual([REWARD, KL, MIXED, BEST]);
    expect(sectionMoved(placed, "Reward", -1)).toEqual([REWARD, MIXED, BEST, KL]);
  });
});

describe("a layout as a file", () => {
  it("comes back with titles and sections", () => {
    const charts = [{ ...KL, title: "Distance", section: "Mine" }, REWARD];
    expect(layoutInFile(fileOf({ charts, x: "", by: "" }))).toEqual({ charts, x: "", by: "" });
    const ofAll = { x: "?kind=elapsed", by: "optim.lr" };
    expect(layoutInFile(fileOf({ charts, ...ofAll }))).toEqual({ charts, ...ofAll });
  });
  it("is nothing else", () => {
    for (const text of ["", "{", "[]", '{"charts": ["reward"]}', '{"what": "rolloupe metrics layout"}'])
      expect(layoutInFile(text)).toBeNull();
  });
  it("has no more charts than the page, and none that nobody can read", () => {
    const many = Array.from({ length: 60 }, (_, i) => textOf(chart("trainer", `m${i}`)));
    expect(chartsIn({ charts: [7, ...many] })).toHaveLength(48);
    expect([chartsIn({}), chartsIn(null), chartsIn({ charts: [] })]).toEqual([null, null, []]);
  });
});
