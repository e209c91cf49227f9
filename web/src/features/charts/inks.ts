/** The colours of a chart on its canvas: those of the theme, which are design tokens. */

export interface Inks {
  line: string;
  faint: string;
  band: string;
  grid: string;
  label: string;
  mark: string;
  page: string;
  strong: string;
  /** The colours of the overlaid runs. */
  others: readonly string[];
  /** The colours of the other runs' raw lines and bands. */
  faints: readonly string[];
  bands: readonly string[];
}

/**
 * Colours that charts have looked up in this turn of the event loop: computing a style takes long, and charts share few
 * colours.
 */
const known = new Map<string, string>();

/** Raw lines with more points are fainter: many jumps would hide the firm line. */
const FEW_POINTS = 100;
const [LEAST_PERCENT, MOST_PERCENT] = [14, 40];

/** A band below the lines of several curves is fainter, because it belongs to one of them or overlaps other bands. */
const [BAND_PERCENT, BAND_OF_MANY_PERCENT] = [10, 5];

/** The opacity of a raw line by its number of points, in percent. */
export const firmness = (points: number): number =>
  Math.round(Math.min(MOST_PERCENT, Math.max(LEAST_PERCENT, MOST_PERCENT * Math.sqrt(FEW_POINTS / points))));

/** The colours of the theme for the canvas, with raw lines of `points` points. */
export function inksOf(element: HTMLElement, colour: number, others: readonly number[], points: number): Inks {
  let probe: HTMLElement | null = null;
  if (known.size === 0) setTimeout(() => known.clear());
  const ink = (css: string): string => {
    const before = known.get(css);
    if (before !== undefined) return before;
    if (probe === null) {
      probe = document.createElement("i"); // only if needed: changing the page costs new styles
      element.append(probe);
    }
    probe.style.color = css;
    const { color } = getComputedStyle(probe);
    known.set(css, color);
    return color;
  };
  const raw = (one: number): string => ink(`color-mix(in oklch, var(--run-${one}) ${firmness(points)}%, transparent)`);
  const share = others.length === 0 ? BAND_PERCENT : BAND_OF_MANY_PERCENT;
  const band = (one: number): string => ink(`color-mix(in oklch, var(--run-${one}) ${share}%, transparent)`);
  const inks = {
    line: ink(`var(--run-${colour})`),
    faint: raw(colour),
    band: band(colour),
    others: others.map((one) => ink(`var(--run-${one})`)),
    faints: others.map(raw),
    bands: others.map(band),
    grid: ink("var(--grid)"),
    label: ink("var(--ink-3)"),
    mark: ink("var(--ink-2)"),
    page: ink("var(--surface-page)"),
    strong: ink("var(--ink-1)"),
  };
  (probe as HTMLElement | null)?.remove();
  return inks;
}
