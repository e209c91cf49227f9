/** A token in words. */

import { exact, figure, fine, score } from "../../../lib/numbers/numbers";
import { escaped } from "../../../lib/tokens/sample/readable";
import { FLAGS, type TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Session } from "../../../state/session";

/** A value of a token: a dash for none. */
export function valueOf(name: string, value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  return FLAGS.has(name) ? figure(value) : score(value);
}

/** The same for a value that the reader looks at: five figures, or all digits. */
export function closeUp(name: string, value: number | undefined, isExact: boolean): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (isExact) return exact(value);
  return FLAGS.has(name) ? figure(value) : fine(value);
}

/** A token and its value of the current series, for a screen reader. */
export function words({ tokenLook: look }: Session, tokens: TokenSample, token: number): string {
  const series = look.drawn.peek()?.series ?? null;
  const value = series === null ? "" : `, ${series.title} ${valueOf(series.name, series.values[token])}`;
  return `${tokens.label(token, escaped)}, token ${token}${value}${tokens.trained[token] === 0 ? ", not trained" : ""}`;
}
