import { describe, expect, it } from "vitest";
import { contrast, over, type Rgb } from "./contrast";
import tokens from "./tokens.css?raw";

const SURFACES = ["surface-rail", "surface-pane", "surface-page", "surface-sunk", "surface-float"];
const INKS = [
  "ink-1",
  "ink-2",
  "ink-3",
  "accent",
  "warn",
  "alarm",
  "think",
  "tool",
  "golden",
  "role-system",
  "role-user",
  "role-assistant",
  "role-tool",
];
const SCALES = [0, 1, 2, 3, 4].map((stop) => `reward-ink-${stop}`).concat("advantage-ink-neg", "advantage-ink-pos");

const PAIR = String.raw`light-dark\((oklch\([^)]*\)),\s*(oklch\([^)]*\))\)`;

/** Light and dark of every token in a block of the file. */
function read(block: string): Map<string, [string, string]> {
  const found = new Map<string, [string, string]>();
  for (const [, name = "", light = "", dark = ""] of block.matchAll(new RegExp(String.raw`--([\w-]+):\s*${PAIR}`, "g")))
    found.set(name, [light, dark]);
  return found;
}

const usual = read(tokens.slice(0, tokens.indexOf(':root[data-reward="safe"]')));
const safe = read(tokens.slice(tokens.indexOf(':root[data-reward="safe"]')));

function least(inks: readonly string[], surfaces: readonly string[], from = usual): [string, number][] {
  return [0, 1].flatMap((theme) =>
    inks.flatMap((ink) =>
      surfaces.map((surface): [string, number] => {
        const below = over(usual.get(surface)?.[theme] ?? "");
        return [
          `${ink} on ${surface}, ${theme === 0 ? "light" : "dark"}`,
          contrast(over(from.get(ink)?.[theme] ?? "", below), below),
        ];
      }),
    ),
  );
}

function laid(names: readonly string[], theme: 0 | 1): Rgb {
  return names.reduce<Rgb>((below, name) => over(usual.get(name)?.[theme] ?? "", below), [1, 1, 1]);
}

describe("text on its surface has a contrast of at least 4.5", () => {
  it("counts as WCAG does", () => {
    expect(contrast(over("oklch(0 0 0)"), over("oklch(1 0 0)"))).toBeCloseTo(21, 1);
    expect(contrast(over("oklch(0.6 0 0)"), over("oklch(1 0 0)"))).toBeCloseTo(3.94, 1);
  });
  it.each(least(INKS, SURFACES))("%s", (_, ratio) => expect(ratio).toBeGreaterThanOrEqual(4.5));
  it.each(least(SCALES, ["surface-pane", "surface-page"]))("%s", (_, ratio) =>
    expect(ratio).toBeGreaterThanOrEqual(4.5),
  );
  it.each(least(SCALES.slice(0, 5), ["surface-pane", "surface-page"], safe))("colour-blind safe: %s", (_, ratio) =>
    expect(ratio).toBeGreaterThanOrEqual(4.5),
  );
  it.each(least(["ink-1"], ["diff-own", "diff-other"]))("%s", (_, ratio) => expect(ratio).toBeGreaterThanOrEqual(4.5));
  it.each(least(["ink-1"], ["heat", "div-neg", "div-pos"]))("of a token: %s", (_, ratio) =>
    expect(ratio).toBeGreaterThanOrEqual(4.5),
  );
  it.each(least(["heat"], ["surface-page"]))("a bar, of at least 3: %s", (_, ratio) =>
    expect(ratio).toBeGreaterThanOrEqual(3),
  );
  it.each(least(["ink-1", "golden"], ["golden-wash"]))("%s", (_, ratio) => expect(ratio).toBeGreaterThanOrEqual(4.5));
  it.each([0, 1] as const)("in a chosen row, theme %i", (theme) => {
    for (const surface of ["surface-pane", "surface-page"]) {
      const row = laid([surface, "accent-soft"], theme);
      for (const ink of ["ink-1", "ink-2", "accent", "warn"])
        expect(contrast(over(usual.get(ink)?.[theme] ?? "", row), row)).toBeGreaterThanOrEqual(4.5);
    }
  });
});

describe("colours", () => {
  const sheets = import.meta.glob<string>("../**/*.css", { query: "?raw", import: "default", eager: true });
  const drawn = Object.entries(sheets).filter(([path]) => !path.endsWith("tokens.css"));
  it("are named by the tokens and nowhere else", () => {
    expect(drawn.length).toBeGreaterThan(20);
    for (const [path, sheet] of drawn)
      expect([path, sheet.match(/#[\da-f]{3,8}\b|\brgba?\(|\bhsla?\(/gi)]).toEqual([path, null]);
  });
  it("are tokens that there are", () => {
    const names = new Set([...tokens.matchAll(/--([\w-]+):/g)].map(([, name]) => name));
    for (const [path, sheet] of drawn) {
      for (const [, name] of sheet.matchAll(/var\(--([\w-]+)\)/g))
        expect([path, name, names.has(name)]).toEqual([path, name, true]);
    }
  });
});
