/** The routes about tokens as functions. */

import { bytes, get } from "./client";
import { decodeTokens, decodeUpdate, type TokenPage, type TokenUpdate } from "./tokens";
import type { TopLogprobsReply, UpdateReply } from "./types.gen";

/** The most tokens that the server sends at once. */
export const MOST_TOKENS = 262_144;

/** A range of a sample's tokens, with all values of each. */
export const getTokens = async (
  run: string,
  id: string,
  range: { start: number; count: number },
  after?: string,
): Promise<TokenPage> => decodeTokens(await bytes(["runs", run, "sample", "tokens"], { id, after, ...range }));

/** What the model could have sampled in the place of a token. */
export const getTopLogprobs = (run: string, id: string, token: number, after?: string): Promise<TopLogprobsReply> =>
  get(["runs", run, "sample", "top-logprobs"], { id, after, token });

/** A rule that says what a step does, as the reader chose it. */
export interface AskedRule {
  name: string;
  thresholds: Readonly<Record<string, number>>;
  klWeight: number;
}

function ruleQuery({ name, thresholds, klWeight }: AskedRule): Record<string, string | number> {
  const moved = Object.entries(thresholds).map(([threshold, value]) => [`threshold.${threshold}`, value] as const);
  return { rule: name, kl_weight: klWeight, ...Object.fromEntries(moved) };
}

export const getUpdate = async (
  run: string,
  id: string,
  rule: AskedRule,
  after?: string,
  signal?: AbortSignal,
): Promise<TokenUpdate> =>
  decodeUpdate(await bytes(["runs", run, "sample", "tokens"], { id, after, ...ruleQuery(rule) }, signal));

/** What a step does to its samples, or to those of a group; the server stops reading them when `signal` ends it. */
export const getUpdateShares = (
  run: string,
  scope: TokenScope,
  rule: AskedRule,
  weights: string,
  against: AskedRule | null,
  signal?: AbortSignal,
): Promise<UpdateReply> =>
  get(["runs", run, "update"], { ...scope, ...ruleQuery(rule), weights, ...againstQuery(against) }, signal);

function againstQuery(against: AskedRule | null): Record<string, string | number | undefined> {
  if (against === null) return {};
  const { rule, ...others } = ruleQuery(against);
  return {
    against: rule,
    ...Object.fromEntries(Object.entries(others).map(([key, value]) => [`against.${key}`, value])),
  };
}

/** What narrows a question about the tokens of many samples: nothing for a whole run. */
export interface TokenScope {
  split?: string;
  step?: number;
  group?: string;
}
