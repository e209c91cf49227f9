/** Spans of time in words. */

const SPANS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** How long ago: `12 s ago`, `3 min ago`. */
export function ago(seconds: number): string {
  return `${span(seconds)} ago`;
}

/** A span of time in its largest unit. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  for (const [length, unit] of SPANS) {
    if (whole >= length) return `${Math.floor(whole / length)} ${unit}`;
  }
  return `${whole} s`;
}
