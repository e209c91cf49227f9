/** A search through all texts: what is searched for and how, and how addresses say so. */

/** A search for a text. `role` is empty for prompts and responses. */
export interface Search {
  text: string;
  regex: boolean;
  case: boolean;
  word: boolean;
  role: string;
  /** In all runs that are open. */
  everywhere: boolean;
  /** The hits of old steps first. */
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

/** More of a text than so much is searched for and not written into the address, which servers bound. */
const MAX_TEXT = 1500;

/** What an address says of it. */
export function searchIn(given: URLSearchParams): Search {
  const how = given.get("how") ?? "";
  return {
    text: given.get("q") ?? "",
    regex: how.includes("r"),
    case: how.includes("c"),
    word: how.includes("w"),
    role: given.get("in") ?? "",
    everywhere: given.get("all") === "1",
    oldest: given.get("order") === "oldest",
  };
}

/** Write it into an address. */
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
