/** Tokens of a sample as the server packs them: a header in JSON, then arrays. docs/tokens-wire.md has the layout. */

import type { MaskRuleInfo, SampleUpdate, TokenArray, TokensHeader, UpdateRuleInfo } from "./types.gen";

type AnyArray = Int32Array | Uint32Array | Uint8Array | Float64Array | Float32Array;

const MAGIC = "RLTK\u0002\0\0\0";
const PREFIX_BYTES = 16;

/** The server sent no page of tokens, or one of another version. */
export class BadTokens extends Error {
  override readonly name = "BadTokens";
}

/** A series of a page, and what is known about it. */
export interface TokenSeries extends Pick<TokenArray, "name" | "title" | "about" | "origin" | "scale"> {
  values: Float64Array;
}

/** A range of tokens; every array has `count` elements. -1 stands for an unknown place, NaN for no value. */
export interface TokenPage {
  id: string;
  total: number;
  start: number;
  count: number;
  ids: Int32Array | Float64Array | null;
  spans: Readonly<Record<"turn" | "part" | "start" | "stop", Int32Array>>;
  series: ReadonlyMap<string, TokenSeries>;
  /** The rules that take tokens out of the loss and need no other series than these. */
  rules: readonly MaskRuleInfo[];
  /** The rules that say what a step does to a token, the run's own first. */
  updates: readonly UpdateRuleInfo[];
  /** The string of a token, by its place in the page; null if the record has none. */
  text: ((place: number) => string) | null;
  /** How the strings of the sample are written. */
  spelling: TokensHeader["spelling"];
  /** True if the record holds alternatives of the sample's tokens. */
  hasAlternatives: boolean;
  /** The bytes of ids that are a part of a character, if a tokenizer made the strings. */
  partial: TokensHeader["partial"];
}

/** What the step does to the tokens of a sample under a rule; the arrays have an element for each token. */
export interface TokenUpdate {
  coefficients: Float64Array;
  /** 0 not trained, 1 pushed up, 2 pushed down, 3 an advantage of 0, 4 taken out by the rule, 5 unknown. */
  effects: Int32Array | Uint8Array;
  sums: SampleUpdate;
}

/** Read the answer to a request that names a rule. Throws `BadTokens`. */
export function decodeUpdate(buffer: ArrayBuffer): TokenUpdate {
  const { record, end } = headerOf(buffer);
  const array = (name: string): AnyArray => {
    const found = record.arrays.find((one) => one.kind === "update" && one.name === name);
    if (found === undefined) throw new BadTokens(`the page lacks ${name}`);
    return viewOf(buffer, end, found);
  };
  const effects = array("effects");
  const isWhole = effects instanceof Int32Array || effects instanceof Uint8Array;
  if (!isWhole || record.update === null) throw new BadTokens("the page holds no update");
  return { coefficients: doubles(array("coefficients")), effects, sums: record.update };
}

/** Read a page of tokens. Its arrays are views of the buffer. Throws `BadTokens`. */
export function decodeTokens(buffer: ArrayBuffer): TokenPage {
  const header = headerOf(buffer);
  const {
    id,
    total,
    start,
    count,
    arrays,
    rules,
    updates,
    spelling,
    has_alternatives: hasAlternatives,
    partial,
  } = header.record;
  const array = (kind: string, name: string): TokenArray | undefined =>
    arrays.find((one) => one.kind === kind && one.name === name);
  const view = (one: TokenArray): AnyArray => viewOf(buffer, header.end, one);
  const places = (name: string): Int32Array => {
    const result = array("span", name);
    const values = result && view(result);
    if (!(values instanceof Int32Array)) throw new BadTokens(`the page lacks ${name}`);
    return values;
  };
  const ids = array("ids", "ids");
  const series = arrays
    .filter((one) => one.kind === "series")
    .map((one) => [one.name, { ...one, values: doubles(view(one)) }] as const);
  return {
    id,
    total,
    start,
    count,
    ids: ids === undefined ? null : numbers(view(ids)),
    spans: { turn: places("turn"), part: places("part"), start: places("start"), stop: places("stop") },
    series: new Map(series),
    rules,
    updates,
    text: textOf(array("text", "bytes"), array("text", "ends"), view),
    spelling,
    hasAlternatives,
    partial,
  };
}

function headerOf(buffer: ArrayBuffer): { record: TokensHeader; end: number } {
  if (buffer.byteLength < PREFIX_BYTES) throw new BadTokens("the page breaks off before its header");
  const magic = new TextDecoder("latin1").decode(new Uint8Array(buffer, 0, MAGIC.length));
  if (magic !== MAGIC)
    throw new BadTokens("not a page of tokens, or one of another version: load the page of the browser again");
  const end = PREFIX_BYTES + Number(new DataView(buffer).getBigUint64(MAGIC.length, true));
  if (end > buffer.byteLength) throw new BadTokens("the header breaks off");
  try {
    return {
      record: JSON.parse(
        new TextDecoder().decode(new Uint8Array(buffer, PREFIX_BYTES, end - PREFIX_BYTES)),
      ) as TokensHeader,
      end,
    };
  } catch {
    throw new BadTokens("the header cannot be read");
  }
}

const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, u1: Uint8Array } as const;

function viewOf(buffer: ArrayBuffer, start: number, { name, dtype, offset, length }: TokenArray): AnyArray {
  if (!Object.hasOwn(KINDS, dtype)) throw new BadTokens(`${name} holds numbers of the unknown kind ${dtype}`);
  const kind = KINDS[dtype as keyof typeof KINDS];
  if (start + offset + length * kind.BYTES_PER_ELEMENT > buffer.byteLength) throw new BadTokens(`${name} breaks off`);
  return new kind(buffer, start + offset, length);
}

function doubles(values: unknown): Float64Array {
  if (values instanceof Float32Array) return Float64Array.from(values);
  if (!(values instanceof Float64Array)) throw new BadTokens("a series holds other numbers than doubles");
  return values;
}

function numbers(values: unknown): Int32Array | Float64Array {
  return values instanceof Int32Array ? values : doubles(values);
}

function textOf(
  bytes: TokenArray | undefined,
  ends: TokenArray | undefined,
  view: (one: TokenArray) => AnyArray,
): TokenPage["text"] {
  if (bytes === undefined || ends === undefined) return null;
  const [data, stops] = [view(bytes), view(ends)];
  if (!(data instanceof Uint8Array)) throw new BadTokens("the strings are not bytes");
  const decoder = new TextDecoder();
  return (place) => decoder.decode(data.subarray(stops[place - 1] ?? 0, stops[place]));
}
