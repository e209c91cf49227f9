/** How an address describes the view of tokens: its part of `lib/address/address.ts`. */

/** The ways to show tokens: as flowing text, as a table of their values, or with the effect of the step. */
export type TokensAs = "text" | "table" | "update";

/** What the sums of the update cover. */
export type UpdateOf = "sample" | "group" | "step";

const FORMS: readonly TokensAs[] = ["text", "table", "update"];
const SCOPES: readonly UpdateOf[] = ["sample", "group", "step"];

export interface TokensView {
  tokensAs: TokensAs;
  updateOf: UpdateOf;
  /** The current token, counted from the first of the sample. */
  token: number | null;
}

export const WHOLE_TEXT: TokensView = { tokensAs: "text", updateOf: "sample", token: null };

const PLACE = /^\d{1,9}$/;

export function readTokensView(params: URLSearchParams): TokensView {
  const token = params.get("token") ?? "";
  return {
    tokensAs: FORMS.find((form) => form === params.get("as")) ?? "text",
    updateOf: SCOPES.find((scope) => scope === params.get("of")) ?? "sample",
    token: PLACE.test(token) ? Number(token) : null,
  };
}

export function writeTokensView({ tokensAs, updateOf, token }: TokensView, query: URLSearchParams): void {
  if (tokensAs !== "text") query.set("as", tokensAs);
  if (tokensAs === "update" && updateOf !== "sample") query.set("of", updateOf);
  if (token !== null) query.set("token", String(token));
}
