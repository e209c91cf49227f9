/** How an address describes the view of tokens: its part of `lib/address/address.ts`. */

import { MOST_RULES, type RuleChoice, ruleIn, scaleIn, textOfRule, textOfScale } from "../tokens/choices";
import type { ScaleChoice } from "../tokens/scale";
import { groupOf } from "./groupAddress";

/** The ways to show tokens: as flowing text, as a table of their values, or with the effect of the step. */
export type TokensAs = "text" | "table" | "update";

/** What the sums of the update cover. */
export type UpdateOf = "sample" | "group" | "step";

const FORMS: readonly TokensAs[] = ["text", "table", "update"];
const SCOPES: readonly UpdateOf[] = ["sample", "group", "step"];

/** The weights of the update: equal for every token, or equal for every sample. */
export type UpdateWeights = "token_mean" | "sequence_mean";

const WEIGHTS: readonly UpdateWeights[] = ["token_mean", "sequence_mean"];

export interface TokensView {
  tokensAs: TokensAs;
  updateOf: UpdateOf;
  /** The series that colours the tokens; empty for the page's own choice. */
  colour: string;
  /** The series that are rows of the table; null for all. */
  tableRows: readonly string[] | null;
  /** The scales that differ from the suggested ones, by the name of the series. */
  scales: Readonly<Record<string, ScaleChoice>>;
  /** The rules that mark what they take out of the loss and say what the step does; null for the page's own choice. */
  rules: readonly RuleChoice[] | null;
  /** Null for the page's own choice. */
  updateWeights: UpdateWeights | null;
  /** The id of a sample of the same group whose tokens are shown beside these; null for none. */
  beside: string | null;
  /** The current token, counted from the first of the sample. */
  token: number | null;
  /** Go to the first token that the two rules treat differently, as soon as it is known. */
  toDifference: boolean;
}

export const WHOLE_TEXT: TokensView = {
  tokensAs: "text",
  updateOf: "sample",
  colour: "",
  tableRows: null,
  scales: {},
  rules: null,
  updateWeights: null,
  beside: null,
  token: null,
  toDifference: false,
};

const MOST_SCALES = 20;
const MOST_ROWS = 100;

/** In place of a token. */
const DIFFERENCE = "difference";
const PLACE = /^\d{1,9}$/;

export function readTokensView(params: URLSearchParams): TokensView {
  const token = params.get("token") ?? "";
  return {
    tokensAs: FORMS.find((form) => form === params.get("as")) ?? "text",
    updateOf: SCOPES.find((scope) => scope === params.get("of")) ?? "sample",
    colour: params.get("colour") ?? "",
    tableRows: params.has("row") ? params.getAll("row").slice(0, MOST_ROWS) : null,
    scales: Object.fromEntries(
      params
        .getAll("scale")
        .slice(0, MOST_SCALES)
        .flatMap((text) => {
          const scale = scaleIn(text);
          return scale === null ? [] : [scale];
        }),
    ),
    // The name of Masks' rules in old links.
    rules: rulesIn(params, "rule") ?? rulesIn(params, "mask"),
    updateWeights: WEIGHTS.find((weights) => weights === params.get("weights")) ?? null,
    ...tokensViewFor(params.get("sample") ?? "", { beside: params.get("beside") || null }),
    token: PLACE.test(token) ? Number(token) : null,
    toDifference: token === DIFFERENCE,
  };
}

export function writeTokensView(place: TokensView & { view: string }, query: URLSearchParams): void {
  const { view, tokensAs, updateOf, beside, token, toDifference } = place;
  if (view !== "tokens") return;
  if (tokensAs !== "text") query.set("as", tokensAs);
  if (tokensAs === "update" && updateOf !== "sample") query.set("of", updateOf);
  if (place.colour !== "") query.set("colour", place.colour);
  for (const [series, scale] of Object.entries(place.scales)) query.append("scale", textOfScale(series, scale));
  if (tokensAs === "table") for (const series of place.tableRows ?? []) query.append("row", series);
  writeRules(query, "rule", place.rules);
  if (place.updateWeights !== null) query.set("weights", place.updateWeights);
  if (beside !== null) query.set("beside", beside);
  if (token !== null) query.set("token", String(token));
  else if (toDifference) query.set("token", DIFFERENCE);
}

/** The rules of a query key, none for an empty one; null without the key. */
function rulesIn(params: URLSearchParams, key: string): readonly RuleChoice[] | null {
  const rules = params.getAll(key).map(ruleIn);
  return rules.length === 0 ? null : rules.filter(({ name }) => name !== "").slice(0, MOST_RULES);
}

function writeRules(query: URLSearchParams, key: string, rules: readonly RuleChoice[] | null): void {
  for (const rule of rules ?? []) query.append(key, textOfRule(rule));
  if (rules?.length === 0) query.append(key, "");
}

/** The options that stay valid for another sample: the sample beside it, if that is a different one of its group. */
export function tokensViewFor(sample: string, { beside }: Pick<TokensView, "beside">): Pick<TokensView, "beside"> {
  const stays = beside !== null && beside !== sample && groupOf(beside) === groupOf(sample);
  return { beside: stays ? beside : null };
}
