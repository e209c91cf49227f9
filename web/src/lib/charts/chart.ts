/** A chart as a record: the curve that it draws. Addresses and this browser's storage hold it as a short text. */

import type { CurveOptions, CurveQuery } from "../../api/types.gen";

export type Options = Partial<CurveOptions>;

/** How a chart of the page of metrics differs from the page: values under the names of the address. */
export type Look = Readonly<Record<string, string>>;

export const LOOKS = [
  "figure",
  "where",
  "split",
  "x",
  "low",
  "high",
  "ema",
  "log",
  "band",
  "marks",
  "outliers",
  "first",
  "last",
  "zero",
] as const;

/** As `CurveQuery`: `name` belongs to `kind`; an empty field means the default of the kind or of the page. */
export interface Chart {
  readonly kind: string;
  readonly name: string;
  readonly source: string;
  readonly stat: string;
  /** The person's own title and section; empty for those of the catalogue. */
  readonly title: string;
  readonly section: string;
  readonly options: Options | null;
  /** Distinguishes it from other charts of the same curve; empty for the first. */
  readonly copy: string;
  readonly look: Look;
  /** The texts of the other curves in the same chart. */
  readonly more: readonly string[];
}

export const chart = (kind: string, name: string, more: Partial<Chart> = {}): Chart => ({
  kind,
  name,
  source: "",
  stat: "",
  title: "",
  section: "",
  options: null,
  copy: "",
  look: {},
  more: [],
  ...more,
});

/** A chart with only its first curve. */
export const plain = ({ kind, name, source, stat, options }: Chart): Chart =>
  chart(kind, name, { source, stat, options });

const SHARES: ReadonlySet<string> = new Set(["group", "share", "mask"]);
const EVAL_SHARES: ReadonlySet<string> = new Set(["correct", "pass_at", "pass_all"]);

/** Its values are shares of a whole. */
export const isShare = ({ kind, stat }: Pick<Chart, "kind" | "stat">): boolean =>
  SHARES.has(kind) || (kind === "eval" && EVAL_SHARES.has(stat));

/** A name as words: `response_tokens` is `Response tokens`. */
export const inWords = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** The name of a chart without the titles of the run's catalogue. */
export function nameOf({ kind, name, source, title }: Chart): string {
  return title || (kind === "trainer" || kind === "token" ? name : inWords(name)) || source;
}

/** The longest title that a person may give. */
export const TITLE_CHARS = 100;

/** The most curves in a chart: nobody can tell more apart. */
export const MAX_SERIES = 8;

/** The texts of most charts, which addresses have used from the start. */
const TRAINER = "trainer.";
const DISCARDED = "discarded";

function shortText({ kind, name }: Chart): string {
  return kind === "trainer" ? TRAINER + name : name;
}

function ofShortText(text: string): Chart {
  if (text.startsWith(TRAINER)) return chart("trainer", text.slice(TRAINER.length));
  return text === DISCARDED ? chart("share", DISCARDED) : chart("sample", text);
}

/** The prefix of another curve of the same chart. */
const WITH = "with";

/** The prefix of all other texts; the fields follow, as in a query. */
const LONG = "?";

export function textOf(of: Chart): string {
  const short = shortText(of);
  const isPlain =
    of.title === "" &&
    of.section === "" &&
    of.more.length === 0 &&
    Object.keys(of.look).length === 0 &&
    isSame(ofShortText(short), of);
  if (!short.startsWith(LONG) && isPlain) return short;
  const { options, look, more, ...fields } = of;
  const all = Object.entries({ ...fields, ...options, ...look }).filter(([, value]) => value !== "" && value !== null);
  const params = new URLSearchParams(all.map(([name, value]) => [name, String(value)]));
  for (const one of more) params.append(WITH, one);
  return LONG + params.toString();
}

/** The chart of a text; null for an invalid one. */
export function chartOf(text: string): Chart | null {
  if (!text.startsWith(LONG)) return text === "" ? null : ofShortText(text);
  const params = new URLSearchParams(text.slice(1));
  const {
    kind,
    name = "",
    source = "",
    stat = "",
    title = "",
    section = "",
    copy = "",
    ...rest
  } = Object.fromEntries(params);
  if (kind === undefined || kind === "") return null;
  const options = optionsOf(rest);
  const own = { title: title.slice(0, TITLE_CHARS), section: section.slice(0, TITLE_CHARS) };
  return chart(kind, name, {
    source,
    stat,
    ...own,
    options: Object.keys(options).length === 0 ? null : options,
    copy,
    look: Object.fromEntries(LOOKS.flatMap((one) => (rest[one] ? [[one, rest[one]]] : []))),
    more: params.getAll(WITH).slice(0, MAX_SERIES - 1),
  });
}

function optionsOf({ spread, smooth, threshold, k, reason }: Record<string, string>): Options {
  return {
    ...(spread === undefined ? {} : { spread: spread === "true" }),
    ...(Number.isSafeInteger(Number(smooth)) ? { smooth: Number(smooth) } : {}),
    ...(Number.isFinite(Number(threshold)) ? { threshold: Number(threshold) } : {}),
    ...(Number.isSafeInteger(Number(k)) ? { k: Number(k) } : {}),
    ...(reason === undefined ? {} : { reason }),
  };
}

const sortedText = (of: Chart): string =>
  JSON.stringify([of.kind, of.name, of.source, of.stat, of.options ?? {}, of.copy]);

/** True for charts of the same curve, whatever they are called; a copy is a chart of its own. */
export const isSame = (one: Chart, other: Chart): boolean => sortedText(one) === sortedText(other);

/** The first of the stored charts: records, or texts of an older version. Invalid ones are left out. */
export function chartsOf(stored: readonly unknown[], most: number): Chart[] {
  const found = new Map<string, Chart>();
  for (const one of stored) {
    if (found.size >= most) break;
    const text = typeof one === "string" ? one : isChart(one) ? textOf({ ...BLANK, ...one, ...PLAIN }) : "";
    const read = chartOf(text);
    const result = read === null ? null : asOwn(read, found);
    if (result !== null && !found.has(sortedText(result))) found.set(sortedText(result), result);
  }
  return [...found.values()];
}

/** The same curve with another look is another chart, whether it is marked as a copy or not. */
function asOwn(one: Chart, found: ReadonlyMap<string, Chart>): Chart {
  const named = (copy: number): Chart => (copy === 1 ? one : { ...one, copy: String(copy) });
  let copy = 1;
  while (isDrawnOtherwise(found.get(sortedText(named(copy))), one)) copy += 1;
  return named(copy);
}

const isDrawnOtherwise = (one: Chart | undefined, other: Chart): boolean =>
  one !== undefined && JSON.stringify([one.look, one.more]) !== JSON.stringify([other.look, other.more]);

const BLANK = { source: "", stat: "", title: "", section: "", options: null };

/** Records are older than copies, looks and further curves. */
const PLAIN = { copy: "", look: {}, more: [] };

type Stored = Pick<Chart, "kind" | "name"> & Partial<Chart>;

function isChart(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { options, ...fields } = { kind: null, name: null, ...BLANK, ...value };
  const texts = [fields.kind, fields.name, fields.source, fields.stat, fields.title, fields.section];
  return texts.every((one) => typeof one === "string") && typeof options === "object";
}

/** The span if nobody chose one: it grows with the curve, and curves of few points are not smoothed. */
export const USUAL_SPAN = -1;
export const [LEAST_SPAN, MOST_SPAN, LEAST_SMOOTHED] = [5, 50, 30] as const;

/** The span of the smoothed line in steps, by the curve's number of points; 0 for none. */
export function spanFor(span: number, points: number): number {
  if (span !== USUAL_SPAN) return span;
  return points < LEAST_SMOOTHED ? 0 : Math.min(MOST_SPAN, Math.max(LEAST_SPAN, Math.floor(points / 10)));
}

const USUAL: CurveOptions = {
  spread: true,
  smooth: USUAL_SPAN,
  threshold: null,
  k: 1,
  reason: "",
  skip_first: false,
  outliers: 0,
  from_zero: false,
  last_step: null,
  where: "",
  band: "",
  x_min: null,
  x_max: null,
};

/** The curve to request; `split` is that of the page. */
export const recordOf = (
  { kind, name, source, stat, options }: Chart,
  split: string,
  x: CurveQuery | null = null,
): CurveQuery => ({
  kind,
  name,
  source: source === "" ? split : source,
  stat,
  options: { ...USUAL, ...options },
  x,
});
