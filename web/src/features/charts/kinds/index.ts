/** The kinds of charts, in the order of the menu. */

import { evaluation } from "./eval";
import { group } from "./group";
import type { ChartKind } from "./kind";
import { mask } from "./mask";
import { cumulative, elapsed } from "./progress";
import { sample } from "./sample";
import { share } from "./share";
import { token } from "./token";
import { trainer } from "./trainer";

export const KINDS: Readonly<Record<string, ChartKind>> = {
  sample,
  token,
  group,
  share,
  mask,
  eval: evaluation,
  elapsed,
  cumulative,
  trainer,
};

/** The kind of a chart; an address may name one unknown to this version. */
export const kindOf = (name: string): ChartKind => KINDS[name] ?? sample;
