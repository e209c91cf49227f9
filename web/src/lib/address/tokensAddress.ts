/** How an address describes the view of tokens: its part of `lib/address/address.ts`. */

/** The ways to show tokens: as flowing text, as a table of their values, or with the effect of the step. */
export type TokensAs = "text" | "table" | "update";

const FORMS: readonly TokensAs[] = ["text", "table", "update"];

export interface TokensView {
  tokensAs: TokensAs;
  /** The current token, counted from the first of the sample. */
  token: number | null;
}

export const WHOLE_TEXT: TokensView = { tokensAs: "text", token: null };

const PLACE = /^\d{1,9}$/;

export function readTokensView(params: URLSearchParams): TokensView {
  const token = params.get("token") ?? "";
  return {
    tokensAs: FORMS.find((form) => form === params.get("as")) ?? "text",
    token: PLACE.test(token) ? Number(token) : null,
  };
}

export function writeTokensView({ tokensAs, token }: TokensView, query: URLSearchParams): void {
  if (tokensAs !== "text") query.set("as", tokensAs);
  if (token !== null) query.set("token", String(token));
}
