/** Saves a chart as a picture, as drawn, in the colours of the theme, with its title and its runs. */

import { type Across, labelOf, ticksAcross } from "../../lib/charts/across";
import { type Dash, FONT, type Ink, type Picture, pictureOf, svgOf } from "../../lib/charts/picture";
import { extent } from "../../lib/numbers/curves";
import { bandsOf, type Bounds, type Curve, drawnOf, rawOf } from "./curvesOf";
import { type Limits, NO_LIMITS, type Range, rangeOf, tickOf, ticksOf } from "./axis";
import { beyondOf, wordsOf } from "./edge/fit";
import { inksOf } from "./inks";

export interface Charted {
  title: string;
  note: string;
  across: string;
  curve: Curve;
  name: string;
  colour: number;
  others: readonly { curve: Curve | null; name: string; colour: number; dash?: Dash }[];
  bounds: Bounds;
  isLog: boolean;
  kind: Across;
  zoom: Range | null;
  /** The axis of values as it is drawn, or as a person chose it. */
  limits: Limits;
}

/** Letters of the labels of an axis are about this wide. */
const LETTER_PX = 7;
const PLOT_PX = 636;
/** A picture for a screen with twice as many pixels. */
const SCALE = 2;

/** The picture of a chart, in the colours that the theme gives to `element`. */
export function pictureOfChart(element: HTMLElement, of: Charted): Picture {
  const { curve, others, bounds, isLog, kind } = of;
  const { columns, digits } = drawnOf(
    curve,
    others.map((one) => one.curve),
    bounds,
    isLog,
  );
  const [xs, mean = [], smooth = [], high = [], low = [], ...rest] = columns;
  const all = extent(columns.slice(1).flatMap((column) => column.map((value) => value ?? null)));
  const [bottom, top] = rangeOf(
    all?.[0] ?? null,
    all?.[1] ?? null,
    bounds,
    isLog,
    digits === 0 ? of.limits : NO_LIMITS,
  );
  const beyond =
    digits > 0
      ? []
      : beyondOf(
          curve,
          others.map((one) => one.curve),
          bounds,
          [bottom, top],
        ).map((one) => wordsOf(one, bounds.isShare));
  const [first, last] = of.zoom ?? [xs[0] ?? 0, xs.at(-1) ?? 0];
  const inks = inksOf(
    element,
    of.colour,
    others.map(({ colour }) => colour),
    xs.length,
  );
  const ink = inkReader();
  const line = ink(inks.line);
  const colours = inks.others.map(ink);
  return pictureOf({
    title: of.title,
    note: [of.note, ...beyond].filter((one) => one !== "").join(" · "),
    across: of.across,
    xs,
    lines: [
      { ys: mean, ink: ink(inks.faint), width: 1.25 },
      ...rawOf(others, rest).map((ys, i) => ({ ys, ink: ink(inks.faints[i] ?? inks.faint), width: 1.25 })),
      { ys: smooth, ink: line, width: 2.25 },
      ...colours.map((one, i) => ({ ys: rest[i] ?? [], ink: one, width: 2, dash: others[i]?.dash ?? [] })),
    ],
    bands: [
      { high, low, ink: ink(inks.band) },
      ...bandsOf(
        others.map((one) => one.curve),
        rest,
      ).map((one) => ({ high: one.high, low: one.low, ink: ink(inks.bands[one.at] ?? inks.band) })),
    ],
    x: {
      low: first,
      high: last > first ? last : first + 1,
      isLog: false,
      ticks: ticksAcross(kind, { first, last, px: PLOT_PX, widthOf: (label) => label.length * LETTER_PX }).map(
        (at) => ({
          at,
          text: labelOf(kind, at),
        }),
      ),
    },
    y: {
      low: bottom,
      high: top,
      isLog,
      ticks: ticksOf(bottom, top, isLog).map((at) => ({ at, text: tickOf(at, digits, bounds.isShare) })),
    },
    legend: [
      { name: of.name, ink: line },
      ...others.flatMap(({ name }, i) => {
        const colour = colours[i];
        return colour === undefined ? [] : [{ name, ink: colour, dash: others[i]?.dash ?? [] }];
      }),
    ],
    inks: { page: ink(inks.page), strong: ink(inks.strong), label: ink(inks.label), grid: ink(inks.grid) },
  });
}

/** Reads a colour as the canvas paints it: themes have colours that other programs do not know. */
export function inkReader(): (css: string) => Ink {
  const context = canvasOf(1, 1);
  return (css) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = css;
    context.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0, alpha = 255] = context.getImageData(0, 0, 1, 1).data;
    const hex = [red, green, blue].map((one) => one.toString(16).padStart(2, "0")).join("");
    return { hex: `#${hex}`, opacity: Number((alpha / 255).toFixed(3)) };
  };
}

function canvasOf(width: number, height: number): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser cannot draw pictures.");
  return context;
}

export const svgBlob = (picture: Picture): Blob => new Blob([svgOf(picture)], { type: "image/svg+xml" });

export async function pngBlob({ width, height, plot, shapes, words }: Picture): Promise<Blob> {
  const context = canvasOf(width * SCALE, height * SCALE);
  context.scale(SCALE, SCALE);
  context.lineJoin = "round";
  const inside = new Path2D();
  inside.rect(plot[0], plot[1] - 2, plot[2], plot[3] + 4);
  for (const { path, ink, width: by, isInside, dash = [] } of shapes) {
    context.save();
    if (isInside) context.clip(inside);
    context.globalAlpha = ink.opacity;
    context.lineWidth = by;
    context.setLineDash([...dash]);
    context[by === 0 ? "fillStyle" : "strokeStyle"] = ink.hex;
    context[by === 0 ? "fill" : "stroke"](new Path2D(path));
    context.restore();
  }
  for (const { text, x, y, anchor, size, isStrong, ink } of words) {
    context.font = `${isStrong ? 600 : 400} ${size}px ${FONT}`;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.fillStyle = ink.hex;
    context.fillText(text, x, y);
  }
  return new Promise((give, fail) => {
    context.canvas.toBlob((blob) => {
      if (blob === null) fail(new Error("This browser cannot save pictures."));
      else give(blob);
    }, "image/png");
  });
}
