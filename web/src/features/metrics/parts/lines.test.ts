import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { CurveData } from "../../../api/types.gen";
import { chart } from "../../../lib/charts/chart";
import { placedOf } from "../../../lib/charts/layout";
import { catalogueEntry as entry } from "../../../testing/catalogue";
import { runItem } from "../../../testing/records";
import { sourcesOf } from "../groups/sources";
import { curveOf } from "../../charts";
import { basesOf, notesOf } from "./notes";
import { COLOURS, drawnOf, endOf, reachAt, reachOf, rowsOf, shownAs, valueOf, wordsOfValue } from "./lines";

const CATALOGUE = [entry("trainer", "kl"), entry("trainer", "loss")];
const ITEMS = [runItem({ id: "a", name: "a" }), runItem({ id: "b", name: "b" })];
const RUNS = sourcesOf(ITEMS, null, "").map((one, i) => Object.assign(one, { colour: i + 1 }));

function drawn(values: number[]) {
  const data: CurveData = {
    run: "a", curve: 0, steps: values.map((_, i) => i), values, spread: null,
  low: null,
  high: null, smooth: null, points: values.length,
    left_out: 0, reach: null, x: null, without_x: 0, x_start_s: null, with_value: null, samples: null, error: "",
  }; // prettier-ignore
  return { data, curve: curveOf(data), span: 10, x: "" };
}

it("have the colour of their run and the dash of their curve; many curves of one run have colours of their own", () => {
  const [alone, both] = placedOf(
    [chart("trainer", "kl"), chart("trainer", "kl", { copy: "2", more: ["trainer.loss"] })],
    CATALOGUE,
  );
  if (alone === undefined || both === undefined) throw new Error("no charts");
  const [only] = rowsOf(alone, [[drawn([1, 2]), drawn([3, 4])]], RUNS);
  expect(only?.lines.map(({ name, dash }) => [name, dash.length > 0])).toEqual([
    ["a", false],
    ["b", false],
  ]);
  const alike = sourcesOf(ITEMS, null, "").map((one) => Object.assign(one, { colour: 3 }));
  const [shared] = rowsOf(alone, [[drawn([1, 2]), drawn([3, 4])]], alike);
  expect(shared?.lines.map(({ dash }) => dash.length > 0)).toEqual([false, true]);
  const rows = rowsOf(both, [[drawn([1, 2]), drawn([3, 4])], [drawn([5, 6])]], RUNS);
  expect(rows.map(({ title, text }) => [title, text])).toEqual([
    ["kl", "trainer.kl"],
    ["loss", "trainer.loss"],
  ]);
  expect(rows.flatMap(({ lines }) => lines.map(({ name, colour, dash }) => [name, colour, dash.length > 0]))).toEqual([
    ["kl · a", RUNS[0]?.colour, false],
    ["kl · b", RUNS[1]?.colour, false],
    ["loss · a", RUNS[0]?.colour, true],
    ["loss · b", RUNS[1]?.colour, true],
  ]);
  expect(rows.map(({ colour }) => colour)).toEqual([null, null]);
  const [own] = RUNS.map(({ colour }) => colour);
  expect(only?.colour).toBe(own);
  const few = rowsOf(both, [[drawn([1, 2])], [drawn([5, 6])]], RUNS.slice(0, 1));
  expect(few.map(({ colour, dash }) => [colour, dash.length > 0])).toEqual([
    [own, false],
    [own, true],
  ]);
  const more = ["trainer.loss", "trainer.loss", "trainer.loss"];
  const [four] = placedOf([chart("trainer", "kl", { more })], CATALOGUE);
  if (four === undefined) throw new Error("no chart");
  const ofOne = rowsOf(four, [[drawn([1, 2])], [drawn([5, 6])]], RUNS.slice(0, 1));
  expect(new Set([own, ...ofOne.map(({ colour }) => colour)]).size, "none has the colour of the run").toBe(5);
  expect(ofOne.every(({ colour, lines }) => lines.every((line) => line.colour === colour))).toBe(true);
});

it("name the step of the last value of a run that ended before another", () => {
  const [alone] = placedOf([chart("trainer", "kl")], CATALOGUE);
  if (alone === undefined) throw new Error("no chart");
  const [row] = rowsOf(alone, [[drawn([1, 2, 3]), drawn([4, 5])]], RUNS);
  const lines = row?.lines ?? [];
  expect(lines.map((line) => endOf(line, lines))).toEqual([null, 1]);
  expect(lines.map((line) => wordsOfValue(line, lines, null))).toEqual(["3.00", "5.00 at 1"]);
  expect(lines.map((line) => wordsOfValue(line, lines, 2))).toEqual(["3.00", "5.00 at 1"]);
});

it("have colours of which the first are far apart, in both themes", () => {
  const tokens = readFileSync("src/styles/tokens.css", "utf8");
  const themes = [0, 1].map((theme) =>
    COLOURS.slice(0, 5).map((one) => {
      const line = new RegExp(String.raw`--run-${one}: light-dark\((.*)\);`).exec(tokens)?.[1] ?? "";
      const [l = 0, c = 0, h = 0] = (line.match(/[\d.]+ [\d.]+ [\d.]+/g)?.[theme] ?? "").split(" ").map(Number);
      return [l, c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
    }),
  );
  for (const colours of themes)
    for (const [i, one] of colours.entries())
      for (const other of colours.slice(i + 1))
        expect(Math.hypot(...one.map((part, at) => part - (other[at] ?? 0)))).toBeGreaterThan(0.11);
});

it("keep their places while one is hidden", () => {
  const [both] = placedOf([chart("trainer", "kl", { more: ["trainer.loss"] })], CATALOGUE);
  if (both === undefined) throw new Error("no chart");
  const rows = rowsOf(both, [[drawn([1, 2])], [drawn([5, 6])]], RUNS.slice(0, 1));
  expect(drawnOf(shownAs(rows, new Map([["trainer.kl", false]])))).toMatchObject({
    curve: { steps: [0, 1], mean: [null, null] },
    others: [{ curve: { mean: [5, 6] } }],
  });
  expect(drawnOf(rowsOf(both, [], RUNS))).toBeNull();
  const without = rowsOf(both, [[drawn([1, 2]), drawn([3, 4])]], sourcesOf(ITEMS, null, "", new Set(["a"])));
  expect(drawnOf(without)).toMatchObject({
    curve: { steps: [0, 1], mean: [null, null] },
    others: [{ curve: { mean: [3, 4] } }, {}, {}],
  });
});

it("are as many as the eye can follow: of several runs with several curves the first curve, and what is chosen", () => {
  const [three] = placedOf(
    [chart("trainer", "kl", { more: ["trainer.loss", "trainer.lr"] })],
    [...CATALOGUE, entry("trainer", "lr")],
  );
  if (three === undefined) throw new Error("no chart");
  const curves = [[drawn([1, 2])], [drawn([5, 6])], [drawn([7, 8])]];
  const runs = ["a", "b", "c"].map((id) => runItem({ id, name: id }));
  const hidden = (count: number, chosen: [string, boolean][] = [], off: string[] = []): boolean[] =>
    shownAs(rowsOf(three, curves, sourcesOf(runs.slice(0, count), null, "", new Set(off))), new Map(chosen)).map(
      ({ isHidden }) => isHidden,
    );
  expect(hidden(1)).toEqual([false, false, false]);
  expect(hidden(2)).toEqual([false, false, false]);
  expect(hidden(3)).toEqual([false, true, true]);
  expect(hidden(3, [], ["b"]), "a hidden run has no lines").toEqual([false, false, false]);
  expect(hidden(3, [["trainer.lr", true]])).toEqual([false, true, false]);
  expect(hidden(1, [["trainer.kl", false]])).toEqual([true, false, false]);
});

it("are of groups of runs with their values, and the number of their runs", () => {
  const groups = [
    { value: "0.5", runs: ["a", "b"] },
    { value: null, runs: ["c"] },
  ];
  const found = sourcesOf(ITEMS, groups, "optim.lr").map(({ name, colour }) => [name, colour]);
  expect(found).toEqual([
    ["lr 0.5 · 2 runs", 1],
    ["no lr · 1 run", 2],
  ]);
});

it("leave the axis its range where outliers at its ends are left out", () => {
  const [whole, cut] = [drawn([1, 2, 3]), drawn([4, 5])];
  expect(reachOf(undefined)).toBeNull();
  expect(reachOf([[whole, cut]])).toBeNull();
  expect(reachOf([[{ ...cut, data: { ...cut.data, reach: [-3, 1] } }]])).toEqual([-3, 1]);
  expect(reachOf([[{ ...cut, data: { ...cut.data, reach: [-3, 1] } }, whole]])).toEqual([-3, 2]);
});

it("have the value of the last step or of the pointed one, never an average", () => {
  const { curve } = drawn([1, 2, 9]);
  const averaged = { ...curve, smooth: [1, 1.5, 4] };
  expect([valueOf(averaged, null), valueOf(averaged, 2), valueOf(averaged, 1)]).toEqual([9, 9, 2]);
  expect(valueOf(null, null)).toBeUndefined();
  const every10 = { ...curve, steps: [0, 10, 20] };
  expect(
    [3, 7, 99].map((step) => valueOf(every10, step)),
    "between two steps it is that of the dot",
  ).toEqual([1, 2, 9]);
});

it("say of how many samples each curve has values, where some have none", () => {
  const [alone, both] = placedOf(
    [chart("trainer", "kl"), chart("trainer", "kl", { copy: "2", more: ["trainer.loss"] })],
    CATALOGUE,
  );
  if (alone === undefined || both === undefined) throw new Error("no charts");
  const { data, ...rest } = drawn([1, 2]);
  const some = { ...rest, data: { ...data, with_value: [8, 9], samples: [64, 64] } };
  const curves = [[some], [drawn([5, 6])]];
  const bases = (of: typeof both, pointed: number | null) =>
    basesOf(rowsOf(of, curves, RUNS.slice(0, 1)), curves, pointed);
  expect(bases(alone, 0)).toEqual(["8 of 64 samples have a value"]);
  expect(bases(alone, null)).toEqual(["9 of 64 samples have a value"]);
  expect(bases(both, 0)).toEqual(["kl: 8 of 64 samples have a value"]);
});

it("say what a logarithmic axis leaves out: zero and what is below", () => {
  const noted = (values: number[], isLog: boolean): string[] => {
    const of = chart("trainer", "kl");
    const curves = [[drawn(values)]];
    const rows = placedOf([of], CATALOGUE).flatMap((one) => rowsOf(one, curves, RUNS.slice(0, 1)));
    return notesOf({ chart: of, rows, curves, pointed: null, xName: "step", isShifted: false, isLog });
  };
  expect(noted([1, 0, 2], true)).toEqual(["log: 0 and below left out"]);
  expect(noted([1, 0, 2], false)).toEqual([]);
  expect(noted([1, 2], true)).toEqual([]);
});

it("of shares are read in percent", () => {
  const all = [entry("share", "truncated")];
  const [row] = placedOf([chart("share", "truncated")], all).flatMap((one) =>
    rowsOf(one, [[drawn([0.5, 0.125])]], RUNS.slice(0, 1)),
  );
  expect((row?.lines ?? []).map((line) => wordsOfValue(line, row?.lines ?? [], null))).toEqual(["12.5%"]);
});

it("of many runs are read as their least and their greatest value", () => {
  const [row] = rowsOf(
    ...([placedOf([chart("trainer", "kl")], CATALOGUE)[0], [[drawn([1, 5]), drawn([3, 2])]], RUNS] as Parameters<
      typeof rowsOf
    >),
  );
  expect(reachAt(row?.lines ?? [], 1)).toBe("2.00 to 5.00 in 2 runs");
  expect(reachAt([], 1)).toBe("–");
});

it("that are changes have a sign", () => {
  const rows = placedOf([chart("trainer", "kl")], CATALOGUE).flatMap((one) =>
    rowsOf(one, [[drawn([0, 2]), drawn([0, -1])]], RUNS, [], true),
  );
  const lines = rows[0]?.lines ?? [];
  expect(lines.map((line) => wordsOfValue(line, lines, null))).toEqual(["+2.00", "−1.00"]);
});
