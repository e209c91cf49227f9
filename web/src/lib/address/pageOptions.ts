/** Further options of a page, which the address holds by their names. */

import { ASKED, type Page } from "./pages";

type Options = Readonly<Record<string, string>>;

/** The value of a page option. Old links call a prompt a problem. */
const askedIn = (params: URLSearchParams, name: string): string =>
  params.get(name) ?? (name === "prompt" ? params.get("problem") : null) ?? "";

/** The options of a page in an address. */
export const askIn = (params: URLSearchParams, page: Page): Options =>
  Object.fromEntries(
    (ASKED[page] ?? []).flatMap((name) => (askedIn(params, name) ? [[name, askedIn(params, name)]] : [])),
  );

/** Write the options of a page. */
export function writeAsked({ page, ask }: { page: Page; ask: Options }, query: URLSearchParams): void {
  for (const name of ASKED[page] ?? []) if (ask[name]) query.set(name, ask[name] ?? "");
}
