/** The contrast of two colours given as `oklch()`, as WCAG 2 computes it, for tests of the design tokens. */

export type Rgb = readonly [number, number, number];

const OKLCH = /oklch\(\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)(?:\s*\/\s*([\d.]+))?\s*\)/;

/** An `oklch()` colour over another, in linear sRGB (Ottosson 2020), clipped to the gamut. */
export function over(colour: string, below: Rgb = [1, 1, 1]): Rgb {
  const match = OKLCH.exec(colour);
  if (match === null) throw new Error(`${colour} is not oklch()`);
  const [light = 0, chroma = 0, hue = 0, alpha = 1] = match
    .slice(1)
    .map((part) => (part === undefined ? 1 : Number(part)));
  const rgb = linear(light, chroma, (hue * Math.PI) / 180);
  if (alpha === 1) return rgb;
  const mixed = (i: 0 | 1 | 2): number => decoded(alpha * encoded(rgb[i]) + (1 - alpha) * encoded(below[i]));
  return [mixed(0), mixed(1), mixed(2)];
}

/** From 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance([r, g, b]: Rgb): number {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function linear(light: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (value: number): number => Math.min(1, Math.max(0, value));
  return [
    clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function encoded(value: number): number {
  return value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
}

function decoded(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
