import { expect, it } from "vitest";
import { type Drawing, pictureOf, svgOf } from "./picture";

const ink = (hex: string): { hex: string; opacity: number } => ({ hex, opacity: 1 });

const drawing = (more: Partial<Drawing> = {}): Drawing => ({
  title: "Reward",
  note: "mean ± std",
  across: "step",
  xs: [0, 1, 2, 3, 4],
  lines: [{ ys: [0, undefined, 1, null, 0.5], ink: ink("#112233"), width: 2 }],
  bands: [{ high: [1, undefined, 1, null, 1], low: [0, undefined, 0.5, null, 0.5], ink: ink("#445566") }],
  x: {
    low: 0,
    high: 4,
    isLog: false,
    ticks: [
      { at: 0, text: "0" },
      { at: 4, text: "4" },
    ],
  },
  y: {
    low: 0,
    high: 1,
    isLog: false,
    ticks: [
      { at: 0, text: "0" },
      { at: 1, text: "1" },
    ],
  },
  legend: [{ name: "a & <b>\u0001\ud800", ink: ink("#112233") }],
  inks: { page: ink("#ffffff"), strong: ink("#000000"), label: ink("#777777"), grid: ink("#eeeeee") },
  ...more,
});

it("a picture of a chart has title, axes and legend, and a line that breaks at gaps alone", () => {
  const picture = pictureOf(drawing());
  expect(picture.words.map(({ text }) => text)).toEqual(
    expect.arrayContaining(["Reward", "mean ± std", "step", "0", "4", "1"]),
  );
  const [left, top, width, height] = picture.plot;
  const line = picture.shapes.find(({ ink: { hex }, width: by }) => hex === "#112233" && by === 2);
  expect(line?.path).toBe(`M${left} ${top + height}L${left + width / 2} ${top}M${left + width} ${top + height / 2}`);
  const dots = picture.shapes.filter(({ ink: { hex }, width: by }) => hex === "#112233" && by === 0);
  expect(dots).toHaveLength(1);
  const band = picture.shapes.find(({ ink: { hex } }) => hex === "#445566");
  expect(band?.path.match(/M/g)).toHaveLength(1);
});

it("a picture has the band of each group", () => {
  const bands = ["#445566", "#665544"].map((hex) => ({ high: [1, 1, 1, 1, 1], low: [0, 0, 0, 0, 0], ink: ink(hex) }));
  const inks = pictureOf(drawing({ bands })).shapes.map(({ ink: { hex } }) => hex);
  expect(inks).toEqual(expect.arrayContaining(["#445566", "#665544"]));
});

it("a logarithmic scale is one in the picture, too", () => {
  const y = { low: 1, high: 100, isLog: true, ticks: [] };
  const picture = pictureOf(drawing({ y, lines: [{ ys: [1, 10, 100], ink: ink("#112233"), width: 2 }], bands: [] }));
  const [left, top, width, height] = picture.plot;
  expect(picture.shapes.find(({ width: by }) => by === 2)?.path).toBe(
    `M${left} ${top + height}L${left + width / 4} ${top + height / 2}L${left + width / 2} ${top}`,
  );
});

it("a picture as SVG needs no other file, and names are text in it", () => {
  const text = svgOf(pictureOf(drawing()));
  expect(text).toContain("a &amp; &lt;b&gt;\ufffd\ufffd</text>");
  expect(text).not.toMatch(/href|url\((?!#plot)|style=|class=|var\(|oklch/);
  expect(text.match(/<(\w+)/g)?.length).toBeGreaterThan(10);
});

it("more runs than fit into a row of the legend have further rows, inside the picture", () => {
  const legend = Array.from({ length: 30 }, (_, i) => ({ name: `run number ${i}`, ink: ink("#112233") }));
  const picture = pictureOf(drawing({ legend }));
  const names = picture.words.filter(({ text }) => text.startsWith("run number"));
  expect(names).toHaveLength(30);
  expect(new Set(names.map(({ y }) => y)).size).toBeGreaterThan(3);
  expect(Math.max(...names.map(({ y }) => y))).toBeLessThan(picture.height);
  expect(picture.height).toBeGreaterThan(pictureOf(drawing()).height);
});
