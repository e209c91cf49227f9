import { expect, it } from "vitest";
import type { CurveData } from "../../../api/types.gen";
import { chart } from "../../../lib/charts/chart";
import { placedOf } from "../../../lib/charts/layout";
import { catalogueEntry as entry } from "../../../testing/catalogue";
import { runItem } from "../../../testing/records";
import { sourcesOf } from "../groups/sources";
import { curveOf } from "../../charts";
import { drawnOf, reachOf, rowsOf, valueOf } from "./lines";

const CATALOGUE = [entry("trainer", "kl"), entry("trainer", "loss")];
const ITEMS = [runItem({ id: "a", name: "a" }), runItem({ id: "b", name: "b" })];
const RUNS = sourcesOf(ITEMS, null, "");

function drawn(values: number[]) {
  const data: CurveData = {
    run: "a", curve: 0, steps: values.map((_, i) => i), values, spread: null,
  low: null,
  high: null, smooth: null, points: values.length,
    left_out: 0, reach: null, x: null, without_x: 0, x_start_s: null, error: "",
  }; // prettier-ignore
  return { data, curve: curveOf(data), x: "" };
}

it("are told apart by the colour of the run, or by that of the curve where a chart has several", () => {
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
  const rows = rowsOf(both, [[drawn([1, 2]), drawn([3, 4])], [drawn([5, 6])]], RUNS);
  expect(rows.map(({ title, text }) => [title, text])).toEqual([
    ["kl", "trainer.kl"],
    ["loss", "trainer.loss"],
  ]);
  expect(rows.flatMap(({ lines }) => lines.map(({ name, dash }) => [name, dash.length > 0]))).toEqual([
    ["kl", false],
    ["kl · b", true],
    ["loss", false],
    ["loss · b", true],
  ]);
  const [own] = RUNS.map(({ colour }) => colour);
  expect(only?.colour).toBe(own);
  expect(new Set([own, ...rows.map(({ colour }) => colour)]).size, "none has the colour of the run").toBe(3);
  expect(rows.every(({ colour, lines }) => lines.every((line) => line.colour === colour))).toBe(true);
});

it("keep their places while one is hidden", () => {
  const [both] = placedOf([chart("trainer", "kl", { more: ["trainer.loss"] })], CATALOGUE);
  if (both === undefined) throw new Error("no chart");
  const rows = rowsOf(both, [[drawn([1, 2])], [drawn([5, 6])]], RUNS.slice(0, 1));
  expect(drawnOf(rows, new Set(["trainer.kl"]))).toMatchObject({
    curve: { steps: [0, 1], mean: [null, null] },
    others: [{ curve: { mean: [5, 6] } }],
  });
  expect(drawnOf(rowsOf(both, [], RUNS), new Set())).toBeNull();
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
});
