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

/** How long something took: `120 ms`, `6.1 s`, `3 min 05 s`, `1 h 02 min`. */
export function took(seconds: number): string {
  if (seconds < 0.995) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 59.95) return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds) / 60;
  const two = (part: number): string => String(part).padStart(2, "0");
  if (minutes < 60) return `${Math.floor(minutes)} min ${two(Math.round(seconds) % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(Math.floor(minutes) % 60)} min`;
}
