/** The page shows numbers, colours and words as the terminal does: see `tests/tui/test_like_the_page.py`. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ColumnInfo, WireNumber } from "../../../api/types.gen";
import { inkOf, scaleOf } from "../../../lib/colour/scales";
import { brief, figure, score, signed, toNumber } from "../../../lib/numbers/numbers";
import { FIRST, FLAGS } from "../../../lib/tokens/sample/tokenSample";
import * as tokens from "../../../lib/tokens/scale";
import { EFFECTS } from "./updatePaint";

interface Tinted {
  values: number[];
  low: WireNumber;
  high: WireNumber;
  strengths: (number | null)[];
}

interface Shown {
  numbers: Record<"value" | "figure" | "score" | "signed" | "brief", WireNumber>[];
  columns: (Pick<ColumnInfo, "name" | "kind" | "low" | "high" | "worst" | "best"> & {
    group_size: number;
    values: number[];
    inks: (string | null)[];
  })[];
  series: (Tinted & { name: string; scale: tokens.ScaleKind })[];
  update: Tinted;
  first: string[];
  flags: string[];
  effects: string[];
}

/** Tests run in `web`. */
const shown: Shown = JSON.parse(readFileSync("../tests/data/wire/shown.json", "utf8"));

/** What is tinted between which ends, in six digits. */
function tinted(scale: tokens.TokenScale, values: readonly number[]): number[] {
  return [scale.low, scale.high, ...values.map((one) => tokens.strengthOf(scale, one))].map(
    (one) => Number(one.toFixed(6)) + 0,
  );
}

const expected = ({ low, high, strengths }: Tinted): number[] => [
  ...[low, high].map((one) => Number(toNumber(one)?.toFixed(6))),
  ...strengths.map((one) => (one === null ? NaN : one + 0)),
];

describe("as in the terminal", () => {
  it("are numbers", () => {
    for (const one of shown.numbers) {
      const number = toNumber(one.value) ?? NaN;
      const words = [figure(one.value), score(one.value), signed(one.value)];
      expect(words).toEqual([one.figure, one.score, one.signed]);
      if (Number.isFinite(number)) expect(brief(number)).toBe(one.brief);
    }
  });
  it("are the inks of columns", () => {
    for (const one of shown.columns) {
      const scale = scaleOf({ ...one, source: "metric", label: "", unit: "", is_empty: false }, one.group_size);
      const inks = one.values.map((value) => /--([\w-]+)/.exec(inkOf(scale, value) ?? "")?.[1] ?? null);
      expect([one.name, ...inks]).toEqual([one.name, ...one.inks]);
    }
  });
  it("are the tints of tokens", () => {
    for (const one of shown.series) {
      const ordered = tokens.sorted(Float64Array.from(one.values), () => true);
      const scale = tokens.scaleOf(ordered, tokens.usualScale(one.scale), one.name);
      expect([one.name, ...tinted(scale, one.values)]).toEqual([one.name, ...expected(one)]);
    }
    const ordered = Float64Array.from(shown.update.values).toSorted();
    expect(tinted(tokens.updateScale(ordered), shown.update.values)).toEqual(expected(shown.update));
  });
  it("are the first series, the flags and the words for an update", () => {
    expect([FIRST, [...FLAGS], EFFECTS]).toEqual([shown.first, shown.flags, shown.effects]);
  });
});
