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

/** The colours of the theme for the canvas. */
export function inksOf(element: HTMLElement, colour: number, others: readonly number[]): Inks {
  const probe = document.createElement("i");
  element.append(probe);
  if (known.size === 0) setTimeout(() => known.clear());
  const ink = (css: string): string => {
    const before = known.get(css);
    if (before !== undefined) return before;
    probe.style.color = css;
    const { color } = getComputedStyle(probe);
    known.set(css, color);
    return color;
  };
  const inks = {
    line: ink(`var(--run-${colour})`),
    faint: ink(`color-mix(in oklch, var(--run-${colour}) 40%, transparent)`),
    band: ink(`color-mix(in oklch, var(--run-${colour}) 10%, transparent)`),
    others: others.map((one) => ink(`var(--run-${one})`)),
    faints: others.map((one) => ink(`color-mix(in oklch, var(--run-${one}) 40%, transparent)`)),
    bands: others.map((one) => ink(`color-mix(in oklch, var(--run-${one}) 10%, transparent)`)),
    grid: ink("var(--grid)"),
    label: ink("var(--ink-3)"),
    mark: ink("var(--ink-2)"),
    page: ink("var(--surface-page)"),
    strong: ink("var(--ink-1)"),
  };
  probe.remove();
  return inks;
}
