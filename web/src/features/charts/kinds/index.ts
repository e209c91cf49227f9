/** The kinds of charts, in the order in which the menu lists them. */

import type { ChartKind } from "./kind";
import { sample } from "./sample";
import { share } from "./share";
import { token } from "./token";
import { trainer } from "./trainer";

export const KINDS: Readonly<Record<string, ChartKind>> = { sample, token, share, trainer };

/** The kind of a chart; an address may name one that this version does not know. */
export const kindOf = (name: string): ChartKind => KINDS[name] ?? sample;
