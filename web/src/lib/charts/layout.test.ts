import { describe, expect, it } from "vitest";
import { chart, textOf } from "./chart";
import { added, chartsIn, layoutInFile, fileOf, movedBy, movedTo, placedOf, renamed } from "./layout";
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

describe("a layout as a file", () => {
  it("comes back with titles and sections", () => {
    const charts = [{ ...KL, title: "Distance", section: "Mine" }, REWARD];
    expect(layoutInFile(fileOf({ charts, x: "" }))).toEqual({ charts, x: "" });
    expect(layoutInFile(fileOf({ charts, x: "?kind=elapsed" }))?.x).toBe("?kind=elapsed");
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
