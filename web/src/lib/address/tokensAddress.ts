/** How an address describes the view of tokens: its part of `lib/address/address.ts`. */

import { groupOf } from "./groupAddress";

/** The ways to show tokens: as flowing text, as a table of their values, or with the effect of the step. */
export type TokensAs = "text" | "table" | "update";

/** What the sums of the update cover. */
export type UpdateOf = "sample" | "group" | "step";

const FORMS: readonly TokensAs[] = ["text", "table", "update"];
const SCOPES: readonly UpdateOf[] = ["sample", "group", "step"];

export interface TokensView {
  tokensAs: TokensAs;
  updateOf: UpdateOf;
  /** The id of a sample of the same group whose tokens are shown beside these; null for none. */
  beside: string | null;
  /** The current token, counted from the first of the sample. */
  token: number | null;
}

export const WHOLE_TEXT: TokensView = { tokensAs: "text", updateOf: "sample", beside: null, token: null };

const PLACE = /^\d{1,9}$/;

export function readTokensView(params: URLSearchParams): TokensView {
  const token = params.get("token") ?? "";
  return {
    tokensAs: FORMS.find((form) => form === params.get("as")) ?? "text",
    updateOf: SCOPES.find((scope) => scope === params.get("of")) ?? "sample",
    ...tokensViewFor(params.get("sample") ?? "", { beside: params.get("beside") || null }),
    token: PLACE.test(token) ? Number(token) : null,
  };
}

export function writeTokensView(place: TokensView & { view: string }, query: URLSearchParams): void {
  const { view, tokensAs, updateOf, beside, token } = place;
  if (view !== "tokens") return;
  if (tokensAs !== "text") query.set("as", tokensAs);
  if (tokensAs === "update" && updateOf !== "sample") query.set("of", updateOf);
  if (beside !== null) query.set("beside", beside);
  if (token !== null) query.set("token", String(token));
}

/** What stays valid for another sample: the one beside it, if that is another one of its group. */
export function tokensViewFor(sample: string, { beside }: Pick<TokensView, "beside">): Pick<TokensView, "beside"> {
  const stays = beside !== null && beside !== sample && groupOf(beside) === groupOf(sample);
  return { beside: stays ? beside : null };
}
