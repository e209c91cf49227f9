/** The kinds of charts, by the names of their curves. */

import { ownValue } from "../../../lib/data/record";
import { evaluation } from "./eval";
import { group } from "./group";
import type { ChartKind } from "./kind";
import { mask } from "./mask";
import { correlation, outcome } from "./outcome";
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
  outcome,
  correlation,
  eval: evaluation,
  elapsed,
  cumulative,
  trainer,
};

/** The kind of a chart; an address may name one unknown to this version. */
export const kindOf = (name: string): ChartKind => ownValue(KINDS, name) ?? sample;
