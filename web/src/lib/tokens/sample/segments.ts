/** The stretches of a sample's tokens, one for each turn, and the chunks of each that are drawn at once. */

/** The parts of a turn that its tokens need. */
export interface TurnRole {
  role: string;
  /** `prompt` or `response`. */
  origin: string;
}

export interface Segment {
  from: number;
  stop: number;
  role: string;
  /** False for tokens that the model did not write: prompts and results of tools. */
  isModel: boolean;
}

export interface TokenRun {
  /** The first token after the padding at the start. */
  first: number;
  count: number;
  turn: Int32Array;
  /** The first token with a string; `count` without strings. */
  firstString: number;
  lossMask: Float64Array | null;
}

const UNKNOWN_TURN = -1;
const TOKENS_OF_CHUNK = 512;
/** A chunk ends after a line if one ends within this many tokens of its end. */
const LINE_WITHIN = 128;

const isModelTurn = ({ role, origin }: TurnRole): boolean =>
  origin === "response" && !["tool", "context", "user", "system", "environment"].includes(role);

/**
 * The stretches of tokens that share a turn. Tokens of an unknown turn belong to the prompt if they come before the
 * first trained token and the first token with a string (strings belong to the response), else to the response.
 */
export function segmentsOf(run: TokenRun, turns: (turn: number) => TurnRole | null): Segment[] {
  const begin = responseStart(run);
  const segments: Segment[] = [];
  let last = NaN;
  for (let token = run.first; token < run.count; token += 1) {
    const turn = run.turn[token] ?? UNKNOWN_TURN;
    const isBegin = turn === UNKNOWN_TURN && token === begin;
    const current = segments.at(-1);
    if (turn === last && !isBegin && current !== undefined) current.stop = token + 1;
    else segments.push({ from: token, stop: token + 1, ...described(turn, token < begin, turns) });
    last = turn;
  }
  return segments;
}

function responseStart({ count, firstString, lossMask }: TokenRun): number {
  if (firstString < count) return firstString;
  const trained = lossMask?.findIndex((value) => value > 0) ?? -1;
  return trained < 0 ? 0 : trained;
}

function described(
  turn: number,
  isPrompt: boolean,
  turns: (turn: number) => TurnRole | null,
): Omit<Segment, "from" | "stop"> {
  const known = turn === UNKNOWN_TURN ? null : turns(turn);
  if (known !== null) return { role: known.role, isModel: isModelTurn(known) };
  if (turn !== UNKNOWN_TURN) return { role: `turn ${turn + 1}`, isModel: true };
  return isPrompt ? { role: "prompt", isModel: false } : { role: "response", isModel: true };
}

/** Which tokens the update counts: those under the loss mask, or, without one, those with a value in some series. */
export function trainedOf({ first, count, lossMask }: TokenRun, series: readonly Float64Array[]): Uint8Array {
  const flags = new Uint8Array(count);
  for (let token = first; token < count; token += 1) {
    const isTrained = lossMask === null ? series.some((one) => !Number.isNaN(one[token])) : (lossMask[token] ?? 0) > 0;
    flags[token] = isTrained ? 1 : 0;
  }
  return flags;
}

/** The cuts of a stretch: after a line if one ends nearby, since a cut shows as a line break. */
export function cutsOf(from: number, stop: number, endsLine: (token: number) => boolean): number[] {
  const cuts = [from];
  for (let at = from; stop - at > TOKENS_OF_CHUNK;) {
    let cut = at + TOKENS_OF_CHUNK;
    for (let back = 0; back < LINE_WITHIN; back += 1)
      if (endsLine(cut - 1 - back)) {
        cut -= back;
        break;
      }
    cuts.push(cut);
    at = cut;
  }
  return [...cuts, stop];
}
