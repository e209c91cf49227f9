/** A chart as a picture of its own: shapes and words with plain colours, as an SVG or for a canvas. */

import { lonely } from "../numbers/curves";
import { placeBetween } from "../numbers/numbers";

/** A colour that every program knows, and its opacity. */
export interface Ink {
  hex: string;
  opacity: number;
}

/** Lengths of dashes and gaps; none for a solid line. */
export type Dash = readonly number[];

export interface Line {
  ys: readonly (number | null | undefined)[];
  ink: Ink;
  width: number;
  dash?: Dash;
}

/** The edges of a band. */
export interface Band {
  high: Line["ys"];
  low: Line["ys"];
  ink: Ink;
}

export interface Drawing {
  title: string;
  /** The meaning of the values, below the title. */
  note: string;
  /** The meaning of x. */
  across: string;
  xs: readonly number[];
  lines: readonly Line[];
  bands: readonly Band[];
  x: Axis;
  y: Axis;
  legend: readonly { name: string; ink: Ink; dash?: Dash }[];
  inks: { page: Ink; strong: Ink; label: Ink; grid: Ink };
}

interface Axis {
  low: number;
  high: number;
  isLog: boolean;
  ticks: readonly { at: number; text: string }[];
}

export interface Shape {
  path: string;
  ink: Ink;
  /** The width of the line; 0 fills the path. */
  width: number;
  /** True to cut at the edges of the plot. */
  isInside: boolean;
  dash?: Dash;
}

export interface Words {
  text: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  size: number;
  isStrong: boolean;
  ink: Ink;
}

export interface Picture {
  width: number;
  height: number;
  /** The plot: left, top, width, height. */
  plot: readonly [number, number, number, number];
  shapes: readonly Shape[];
  words: readonly Words[];
}

export const FONT = "Inter, ui-sans-serif, system-ui, sans-serif";
const WIDTH_PX = 720;
const PLOT_PX = 300;
const MARGIN_PX = 20;
const LEFT_PX = 64;
const TOP_PX = 64;
const LINE_PX = 20;
/** The approximate width of a letter, relative to its size. */
const LETTER = 0.58;
const DOT_PX = 2.5;
/** The length of a line in the legend, which shows its dashes. */
const KEY_PX = 22;

/** Where a number is on an axis, from 0 to 1. */
function part(value: number, { low, high, isLog }: Axis): number {
  return isLog ? placeBetween(Math.log10(value), Math.log10(low), Math.log10(high)) : placeBetween(value, low, high);
}

export function pictureOf(of: Drawing): Picture {
  const plot = [LEFT_PX, TOP_PX, WIDTH_PX - LEFT_PX - MARGIN_PX, PLOT_PX] as const;
  const [left, top, width, height] = plot;
  const toX = (x: number): number => left + part(x, of.x) * width;
  const toY = (y: number): number => top + height - part(y, of.y) * height;
  const { label, strong, grid, page } = of.inks;
  const bottom = top + height;
  const { words: legend, shapes: keys, rows } = legendOf(of, bottom + 46);
  const total = bottom + 40 + rows * LINE_PX + (rows > 0 ? 8 : 4);
  const line = (path: string, ink: Ink, by: number, isInside = true): Shape => ({ path, ink, width: by, isInside });
  const small = { size: 11, isStrong: false, ink: label };
  return {
    width: WIDTH_PX,
    height: total,
    plot,
    shapes: [
      line(`M0 0H${WIDTH_PX}V${total}H0Z`, page, 0, false),
      ...of.y.ticks.map(({ at }) => line(`M${left} ${px(toY(at))}H${left + width}`, grid, 1, false)),
      ...of.bands.map((band) => line(areaOf(of.xs, band, toX, toY), band.ink, 0)),
      ...of.lines.flatMap(({ ys, ink, width: by, dash = [] }) => [
        { ...line(pathOf(of.xs, ys, toX, toY), ink, by), dash },
        line(dotsOf(of.xs, ys, toX, toY), ink, 0),
      ]),
      ...keys,
    ].filter(({ path }) => path !== ""),
    words: [
      { text: fitting(of.title, 16), x: MARGIN_PX, y: 28, anchor: "start", size: 16, isStrong: true, ink: strong },
      { text: fitting(of.note, 12), x: MARGIN_PX, y: 47, anchor: "start", ...small, size: 12 },
      ...of.y.ticks.map(({ at, text }): Words => ({ text, x: left - 8, y: toY(at) + 4, anchor: "end", ...small })),
      ...of.x.ticks.map(({ at, text }): Words => ({ text, x: toX(at), y: bottom + 17, anchor: "middle", ...small })),
      { text: of.across, x: left + width / 2, y: bottom + 33, anchor: "middle", ...small },
      ...legend,
    ],
  };
}

const widthOf = (text: string, size: number): number => text.length * size * LETTER;

/** The text, cut to the width of the picture. */
function fitting(text: string, size: number): string {
  const most = Math.floor((WIDTH_PX - 2 * MARGIN_PX) / (size * LETTER));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The runs with their colours, in rows. */
function legendOf(of: Drawing, top: number): { words: Words[]; shapes: Shape[]; rows: number } {
  const words: Words[] = [];
  const shapes: Shape[] = [];
  let [x, y] = [LEFT_PX, top];
  for (const { name, ink, dash = [] } of of.legend) {
    const text = fitting(name, 12);
    const width = KEY_PX + 6 + widthOf(text, 12) + 20;
    if (x > LEFT_PX && x + width > WIDTH_PX - MARGIN_PX) [x, y] = [LEFT_PX, y + LINE_PX];
    shapes.push({
      path: `M${px(x)} ${y + 8}h${KEY_PX}`,
      ink,
      width: 2.5,
      isInside: false,
      dash,
    });
    words.push({ text, x: x + KEY_PX + 6, y: y + 12, anchor: "start", size: 12, isStrong: false, ink: of.inks.strong });
    x += width;
  }
  return { words, shapes, rows: of.legend.length === 0 ? 0 : (y - top) / LINE_PX + 1 };
}

type To = (value: number) => number;

const px = (value: number): string => String(Number(value.toFixed(2)));

/** A line that breaks at gaps (null), and continues over the points of other runs (undefined). */
function pathOf(xs: readonly number[], ys: Line["ys"], toX: To, toY: To): string {
  let sign = "M";
  let path = "";
  ys.forEach((y, i) => {
    if (y === undefined) return;
    if (y !== null) path += `${sign}${px(toX(xs[i] ?? 0))} ${px(toY(y))}`;
    sign = y === null ? "M" : "L";
  });
  return path;
}

function dotsOf(xs: readonly number[], ys: Line["ys"], toX: To, toY: To): string {
  return lonely(ys)
    .map(
      (i) =>
        `M${px(toX(xs[i] ?? 0) - DOT_PX)} ${px(toY(ys[i] ?? 0))}a${DOT_PX} ${DOT_PX} 0 1 0 5 0a2.5 2.5 0 1 0 -5 0Z`,
    )
    .join("");
}

/** The band: along its upper edge and back along the lower one, for each stretch without a gap. */
function areaOf(xs: readonly number[], band: Band, toX: To, toY: To): string {
  let path = "";
  let above: string[] = [];
  let below: string[] = [];
  const close = (): void => {
    if (above.length > 1) path += `M${[...above, ...below.toReversed()].join("L")}Z`;
    [above, below] = [[], []];
  };
  xs.forEach((x, i) => {
    const [high, low] = [band.high[i], band.low[i]];
    if (high === undefined || low === undefined) return;
    if (high === null || low === null) {
      close();
      return;
    }
    above.push(`${px(toX(x))} ${px(toY(high))}`);
    below.push(`${px(toX(x))} ${px(toY(low))}`);
  });
  close();
  return path;
}

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Escapes characters for XML, and drops control characters and lone surrogates, which XML cannot hold. */
const SPECIAL = /[&<>"]|[^\t\n\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

const escaped = (text: string): string => text.replaceAll(SPECIAL, (sign) => SIGNS[sign] ?? "\ufffd");

type Attributes = Readonly<Record<string, string | number | undefined>>;

function tag(name: string, attributes: Attributes, inner = ""): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escaped(String(value))}"`],
  );
  return `<${name}${written.join("")}${inner === "" ? "/>" : `>${inner}</${name}>`}`;
}

function tagOfShape({ path: d, ink: { hex, opacity }, width, isInside, dash = [] }: Shape): string {
  const clip = { "clip-path": isInside ? "url(#plot)" : undefined };
  if (width === 0) return tag("path", { d, fill: hex, "fill-opacity": opacity, ...clip });
  const line = {
    stroke: hex,
    "stroke-opacity": opacity,
    "stroke-width": width,
    "stroke-linejoin": "round",
    "stroke-dasharray": dash.length === 0 ? undefined : dash.join(" "),
  };
  return tag("path", { d, fill: "none", ...line, ...clip });
}

function tagOfWords({ text, x, y, anchor, size, isStrong, ink }: Words): string {
  const font = { "font-size": size, "font-weight": isStrong ? 600 : 400 };
  return tag("text", { x: px(x), y: px(y), "text-anchor": anchor, ...font, fill: ink.hex }, escaped(text));
}

/** The picture as a self-contained file. */
export function svgOf({ width, height, plot, shapes, words }: Picture): string {
  const [x, top, across, up] = plot;
  const clip = tag("rect", { x, y: top - 2, width: across, height: up + 4 });
  const parts = [
    tag("title", {}, escaped(words[0]?.text ?? "")),
    tag("clipPath", { id: "plot" }, clip),
    ...shapes.map(tagOfShape),
    ...words.map(tagOfWords),
  ];
  const viewBox = `0 0 ${width} ${height}`;
  const picture = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox, "font-family": FONT };
  return `${tag("svg", picture, `\n${parts.join("\n")}\n`)}\n`;
}
