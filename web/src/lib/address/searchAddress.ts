/** A full-text search: its text and options, and their form in addresses. */

/** A search for a text. `role` is empty for prompts and responses. */
export interface Search {
  text: string;
  regex: boolean;
  case: boolean;
  word: boolean;
  role: string;
  /** Searches all open runs. */
  everywhere: boolean;
  /** Lists the hits of old steps first. */
  oldest: boolean;
}

export const NO_SEARCH: Search = {
  text: "",
  regex: false,
  case: false,
  word: false,
  role: "",
  everywhere: false,
  oldest: false,
};

/** The most characters to search for and to write into an address, as servers limit its length. */
const MAX_TEXT = 1500;

/** Read the search of an address. */
export function searchIn(params: URLSearchParams): Search {
  const how = params.get("how") ?? "";
  return {
    text: params.get("q") ?? "",
    regex: how.includes("r"),
    case: how.includes("c"),
    word: how.includes("w"),
    role: params.get("in") ?? "",
    everywhere: params.get("all") === "1",
    oldest: params.get("order") === "oldest",
  };
}

/** Write the search into an address. */
export function writeSearch(
  { text, regex, case: isCased, word, role, everywhere, oldest }: Search,
  query: URLSearchParams,
): void {
  if (text !== "" && text.length <= MAX_TEXT) query.set("q", text);
  const how = `${regex ? "r" : ""}${isCased ? "c" : ""}${word ? "w" : ""}`;
  if (how !== "") query.set("how", how);
  if (role !== "") query.set("in", role);
  if (everywhere) query.set("all", "1");
  if (oldest) query.set("order", "oldest");
}
