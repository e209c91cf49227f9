/** The address of a view: everything that the page shows, written as path and query, and read back. */

import { type Chart, chartsOf, textOf } from "../charts/chart";
import { decoded } from "./decoded";
import { askIn, writeAsked } from "./pageOptions";
import { ABOVE, BESIDE, type Page } from "./pages";
import { isOf } from "./splits";
import { NO_SEARCH, type Search, searchIn, writeSearch } from "./searchAddress";
import { WHOLE_GROUP, readGroupView, type GroupView, groupViewFor, writeGroupView } from "./groupAddress";
import { readTokensView, tokensViewFor, type TokensView, WHOLE_TEXT, writeTokensView } from "./tokensAddress";
import { type Extent, extentBeside, type View, viewIn } from "./views";

export { hasStep, type Page } from "./pages";
export { NO_SEARCH, type Search } from "./searchAddress";
export type { Extent, View } from "./views";

/** How the list presents its scope. */
export type Mode = "groups" | "samples" | "table";

/** What the page shows. Null leaves the choice to the page. */
export interface Place extends GroupView, TokensView {
  page: Page;
  run: string | null;
  split: string | null;
  step: number | null;
  sample: string | null;
  view: View;
  /** `index`, `length`, or the name of a column. */
  sort: string;
  descending: boolean;
  /** Lists discarded samples instead of trained ones. */
  discarded: boolean;
  mode: Mode | null;
  extent: Extent;
  /** The filter as typed. */
  where: string;
  /** The columns of the list; null for the reader's own choice. */
  columns: readonly string[] | null;
  /** The charts of the page of metrics, or those below the reward; null for the reader's own choice. */
  charts: readonly Chart[] | null;
  /** Further options of a page, by name: see `ASKED`. */
  ask: Readonly<Record<string, string>>;
  /**
   * The node of a report that a link points to, as the child numbers that lead there, such as `0.3.1`. Empty for none.
   */
  at: string;
  /** On a narrow screen: the list of samples, instead of the sample. */
  list: boolean;
  /** Runs whose curves are drawn over those of the current run. */
  over: readonly string[];
  /** The filter of the list of bookmarks. */
  find: string;
  /** Bookmarks of all runs, not of the current run alone. */
  all: boolean;
  /** The full-text search; the open sample marks its hits. */
  search: Search;
}

export const START: Place = {
  page: "runs",
  run: null,
  split: null,
  step: null,
  sample: null,
  view: "transcript",
  ...WHOLE_GROUP,
  ...WHOLE_TEXT,
  sort: "index",
  descending: false,
  discarded: false,
  mode: null,
  extent: "step",
  where: "",
  columns: null,
  charts: null,
  ask: {},
  at: "",
  list: false,
  over: [],
  find: "",
  all: false,
  search: NO_SEARCH,
};

const MODES: readonly Mode[] = ["groups", "samples", "table"];
/** Sort orders that every run has. */
const SORTS: ReadonlySet<string> = new Set(["index", "reward", "length"]);
const RANGE = /^(-?\d{1,16})?:(-?\d{1,16})?$/;
/** The server compares at most a hundred runs: these and the current one. */
export const MAX_OVER = 99;
/** The most columns: more take long to draw, and nobody reads that many. */
export const MAX_COLUMNS = 200;
/** With overlaid runs, one answer of the server still has all curves. */
export const MAX_CHARTS = 48;
/** The last part of the address of discarded samples: the same page as the rollouts. */
const DISCARDED = "discarded";
export const WHOLE = /^-?\d{1,16}$/;
const AT = /^\d{1,6}(?:\.\d{1,6}){0,99}$/;

/** A sample's id without its split and step, which the address has already. Null for an invalid id. */
export function scopeOf(id: string): { split: string; step: number } | null {
  const parts = id.split("/");
  const step = parts.at(-3);
  if (parts.length < 4 || step === undefined || !WHOLE.test(step)) return null;
  try {
    return { split: parts.slice(0, -3).map(decodeURIComponent).join("/"), step: Number(step) };
  } catch {
    return null;
  }
}

/** Read an address below the base path: `path` without a leading slash, `query` with or without its `?`. */
export function parse(path: string, query: string): Place {
  const [first, second, third] = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  const params = new URLSearchParams(query);
  const above = ABOVE.find((name) => name === first);
  if (above !== undefined)
    return {
      ...START,
      page: above,
      run: params.get("run") || null,
      find: params.get("find") ?? "",
      all: params.get("all") === "1",
    };
  const isSearch = first === "search";
  if (!isSearch && (first !== "runs" || second === undefined))
    return { ...START, view: viewIn(params), ask: askIn(params, "runs") };
  const sample = params.get("sample") || null;
  const scope = sample === null ? null : scopeOf(sample);
  const split = params.get("split") || null;
  const step = params.get("step") ?? "";
  const sort = params.get("sort") ?? "";
  const page = isSearch ? "search" : (BESIDE.find((name) => name === third) ?? "rollouts");
  return {
    page,
    run: isSearch ? params.get("run") || null : (second ?? null),
    split: scope === null || isOf(scope.split, split) ? split : scope.split,
    step: scope?.step ?? (WHOLE.test(step) ? Number(step) : null),
    sample,
    view: viewIn(params),
    ...readGroupView(params),
    ...readTokensView(params),
    sort: sort.replace(/^-/, "") || "index",
    descending: sort.startsWith("-"),
    mode: MODES.find((name) => name === params.get("mode")) ?? null,
    extent: extentOf(params.get("scope") ?? ""),
    where: params.get("where") ?? "",
    columns: namesIn(params, "column", MAX_COLUMNS),
    charts: params.has("chart") ? chartsOf(params.getAll("chart"), MAX_CHARTS) : null,
    discarded: third === DISCARDED,
    ask: askIn(params, page),
    at: third === "report" && AT.test(params.get("at") ?? "") ? (params.get("at") ?? "") : "",
    list: params.get("list") === "1",
    over: [...new Set(params.getAll("over"))].filter((id) => id !== "" && id !== second).slice(0, MAX_OVER),
    find: "",
    all: false,
    search: searchIn(params),
  };
}

/** Write an address, relative to the base path. Defaults are left out. */
export function format(place: Place): string {
  const isAbove = ABOVE.includes(place.page);
  const isSearch = place.page === "search";
  const query = new URLSearchParams();
  if (place.page === "runs") {
    writeAsked(place, query);
    return joined("", query);
  }
  if (!isAbove && !isSearch && place.run === null) return "";
  if (isAbove) {
    if (place.run !== null) query.set("run", place.run);
    if (place.find !== "") query.set("find", place.find);
    if (place.all) query.set("all", "1");
    return joined(place.page, query);
  }
  const path = `runs/${encodeURIComponent(place.run ?? "")}`;
  if (isSearch && place.run !== null) query.set("run", place.run);
  if (place.split !== null) query.set("split", place.split);
  if (place.step !== null) query.set("step", String(place.step));
  if (place.sample !== null) query.set("sample", place.sample);
  if (place.view !== "transcript") query.set("view", place.view);
  writeGroupView(place, query);
  writeTokensView(place, query);
  if (place.sort !== "index" || place.descending) query.set("sort", `${place.descending ? "-" : ""}${place.sort}`);
  if (place.mode !== null) query.set("mode", place.mode);
  if (place.extent !== "step")
    query.set("scope", place.extent === "run" ? "run" : place.extent.map((end) => end ?? "").join(":"));
  if (place.where !== "") query.set("where", place.where);
  writeNames(query, "column", place.columns);
  writeNames(query, "chart", place.charts?.map(textOf) ?? null);
  writeAsked(place, query);
  if (place.page === "report" && place.at !== "") query.set("at", place.at);
  if (place.list) query.set("list", "1");
  for (const id of place.over) query.append("over", id);
  if (isSearch || place.page === "rollouts") writeSearch(place.search, query);
  if (isSearch) return joined("search", query);
  if (place.page === "rollouts" && place.discarded) return joined(`${path}/${DISCARDED}`, query);
  return joined(BESIDE.includes(place.page) ? `${path}/${place.page}` : path, query);
}

/** The same place with some changes; the page chooses again whatever depended on them. */
export function moved(place: Place, change: Partial<Place>): Place {
  const next = movedTo(place, change);
  if (next.sample === place.sample) return next;
  const { sample } = next;
  const there = { ...next, token: change.token ?? null, toDifference: change.toDifference === true };
  if (sample === null) return there;
  const against = change.against === undefined ? {} : { against: change.against };
  return { ...there, ...tokensViewFor(sample, next), ...groupViewFor(sample, next), ...against };
}

function movedTo(place: Place, change: Partial<Place>): Place {
  const next = { ...place, ...change };
  const at = (key: keyof Place): boolean => key in change && change[key] !== place[key];
  if (at("run")) {
    const sort = SORTS.has(place.sort) ? place.sort : "index";
    const over = place.over.filter((id) => id !== change.run);
    // Metrics are compared from run to run.
    const isMetrics = place.page === "metrics";
    const page = isMetrics || place.page === "compare" ? place.page : "rollouts";
    return {
      ...START,
      page,
      ask: isMetrics ? place.ask : {},
      sort,
      descending: place.descending,
      mode: place.mode,
      over,
      search: place.search,
      // The first run opens in the view that the command line named.
      view: place.run === null ? place.view : START.view,
      ...change,
    };
  }
  if (at("split") && !("step" in change)) next.step = null;
  // The page of metrics has charts of its own.
  if (at("page") && [place.page, next.page].includes("metrics") && !("charts" in change)) next.charts = null;
  if ((at("page") || at("split") || at("step")) && !("at" in change)) next.at = "";
  if (at("page") && !("extent" in change)) next.extent = extentBeside(place, next.page);
  // Choosing another step narrows the list to that step; choosing another sample also moves to its step, whatever the
  // list covers. A page that fills in an open choice changes nothing else.
  const isOther = (at("split") && place.split !== null) || (at("step") && place.step !== null);
  if (isOther && !("extent" in change)) next.extent = "step";
  // Sorting shows the first sample of the new order.
  const isOrdered = at("sort") || at("descending");
  if (isOrdered && !("sample" in change)) next.sample = null;
  const to = at("sample") && change.sample ? scopeOf(change.sample) : null;
  if (to !== null && !("step" in change)) return { ...next, step: to.step };
  if ((at("split") || at("step") || at("discarded")) && !("sample" in change)) next.sample = null;
  return next;
}

/** The repeated values of a query key, an empty one for an empty list; null without the key. */
function namesIn(params: URLSearchParams, key: string, most: number): readonly string[] | null {
  return params.has(key) ? [...new Set(params.getAll(key))].filter((name) => name !== "").slice(0, most) : null;
}

function writeNames(query: URLSearchParams, key: string, names: readonly string[] | null): void {
  for (const name of names ?? []) query.append(key, name);
  if (names?.length === 0) query.append(key, "");
}

function extentOf(text: string): Extent {
  if (text === "run") return "run";
  const match = RANGE.exec(text);
  const end = (digits: string | undefined): number | null => (digits === undefined ? null : Number(digits));
  return match === null ? "step" : [end(match[1]), end(match[2])];
}

function joined(path: string, query: URLSearchParams): string {
  const text = query.toString().replaceAll("%2F", "/");
  return text === "" ? path : `${path}?${text}`;
}
