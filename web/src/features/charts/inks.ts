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
  /** Of the raw lines and of the bands of the others. */
  faints: readonly string[];
  bands: readonly string[];
}

/** What charts have looked up in this turn: to compute a style takes long, and all of them share few colours. */
const known = new Map<string, string>();

/** Raw lines of more points are fainter: many jumps would hide the firm line. */
const FEW_POINTS = 100;
const [LEAST_PERCENT, MOST_PERCENT] = [14, 40];

/** A band below the lines of several curves is fainter: it is of one of them, or bands lie on each other. */
const [BAND_PERCENT, BAND_OF_MANY_PERCENT] = [10, 5];

/** How firm a raw line of so many points is, in percent. */
export const firmness = (points: number): number =>
  Math.round(Math.min(MOST_PERCENT, Math.max(LEAST_PERCENT, MOST_PERCENT * Math.sqrt(FEW_POINTS / points))));

/** The colours of the theme for the canvas, with raw lines of so many points. */
export function inksOf(element: HTMLElement, colour: number, others: readonly number[], points: number): Inks {
  let probe: HTMLElement | null = null;
  if (known.size === 0) setTimeout(() => known.clear());
  const ink = (css: string): string => {
    const before = known.get(css);
    if (before !== undefined) return before;
    if (probe === null) {
      probe = document.createElement("i"); // only where it is needed: a change of the page costs new styles
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
