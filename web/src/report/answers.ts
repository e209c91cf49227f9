/** Answers the requests of the page from the samples in the file. */

import { answerWith } from "../api/client";
import type { SampleReply, Alternative, BriefSentence, TurnView, WireNumber } from "../api/types.gen";

/** A sample of the report. What belongs to tokens is base64 of compressed bytes. */
export interface ReportSample {
  reply: SampleReply;
  preview: string;
  /** The notes of a person. */
  note: string;
  /** Its value of the measure of the worst samples; null without a measure. */
  measured: Measured | null;
  /** Its tokens, in the form of docs/tokens-wire.md. */
  tokens: string | null;
  /** The update of the tokens, by rule. */
  updates: Readonly<Record<string, string>>;
  /** What the model could have sampled: `Alternatives` as JSON. */
  alternatives: string | null;
}

export interface Measured {
  value: WireNumber;
  /** The series of the measure; empty for a measure of another kind. */
  series: string;
  /** The token with the value. */
  token: number | null;
}

/** The alternatives of all tokens, one token after another. */
interface Alternatives {
  strings: readonly string[];
  /** For each token, the number of its alternatives, and which of them the model sampled. */
  counts: readonly number[];
  chosen: readonly number[];
  /** For each alternative, the index of its string, and its logprob. */
  places: readonly number[];
  logprobs: readonly number[];
}

/** What the file holds. */
export interface ReportData {
  title: string;
  about: string;
  /** Which of the requested samples the file holds. */
  part: string;
  made: string;
  /** The file with further samples; empty if this is the last. */
  next_file: string;
  /** The measure of the worst samples, and its label; empty without one. */
  measure: string;
  measure_title: string;
  /** What the reward pays for, and which rules samples break; null where nobody asked. */
  insight: Insight | null;
  /** The mean reward by step; null with fewer than two steps. */
  curve: Curve | null;
  /** Why the file is incomplete. */
  failures: readonly string[];
  samples: readonly ReportSample[];
}

export interface Curve {
  split: string;
  steps: readonly number[];
  means: readonly WireNumber[];
}

/** Findings about the whole run, in sentences; their samples may be outside the file. */
export interface Insight {
  note: string;
  /** What is worth knowing of the run, in at most three sentences. */
  brief: readonly { kind: BriefSentence["kind"]; text: string; samples: readonly string[] }[];
  findings: readonly { kind: string; meaning: string; text: string; samples: readonly string[] }[];
  /** Set aside by a person, with the reason. */
  aside: readonly string[];
  parts: readonly string[];
  rules: readonly { is_certain: boolean; text: string; words: string; samples: readonly string[] }[];
  checked: number;
}

/** The longest task, less than two frames, so that the page stays responsive. */
const SLICE_MS = 30;

/** A line of the file: a sample without turns, some of its turns, more of a text, or at the end all but the samples. */
type Line =
  | ReportSample
  | { turns: SampleReply["turns"] }
  | { part: number; of: "text" | "raw"; more: string }
  | Omit<ReportData, "samples">;

/** Read the data of the file line by line: reading all at once would block the page. */
export async function reportData(): Promise<ReportData> {
  const text = document.querySelector("#data")?.textContent ?? "";
  const samples: ReportSample[] = [];
  let rest = 0;
  let until = performance.now() + SLICE_MS;
  for (let at = 1; at < text.length; at = rest + 1) {
    rest = text.indexOf("\n", at);
    if (rest < 0) rest = text.length;
    const line = JSON.parse(text.slice(at, rest)) as Line;
    if ("reply" in line) samples.push(line);
    else if ("turns" in line) samples.at(-1)?.reply.turns.push(...line.turns);
    else if ("more" in line) addText(samples.at(-1)?.reply.turns.at(-1), line);
    else return { ...line, samples };
    if (performance.now() > until) {
      await pause();
      until = performance.now() + SLICE_MS;
    }
  }
  throw new Error("the file is incomplete");
}

/** Append a line's text to a part of the last turn. */
function addText(
  turn: TurnView | undefined,
  { part, of, more }: { part: number; of: "text" | "raw"; more: string },
): void {
  const begun = turn?.parts[part];
  if (begun !== undefined) begun[of] = (begun[of] ?? "") + more;
}

/** Let the browser do other things first. */
const pause = (): Promise<void> =>
  new Promise((done) => {
    setTimeout(done);
  });

/** Answer all questions of the page from the file. No request leaves it. */
export function startAnswers({ samples }: ReportData): void {
  const byId = new Map(samples.map((sample) => [sample.reply.id, sample]));
  answerWith(async (url) => {
    const { pathname, searchParams } = new URL(url);
    const sample = byId.get(searchParams.get("id") ?? "");
    if (sample === undefined) return missing("This report does not hold that sample.");
    if (pathname.endsWith("/sample")) return answer(sample.reply);
    if (pathname.endsWith("/sample/tokens")) {
      const rule = searchParams.get("rule");
      const packed = rule === null ? sample.tokens : sample.updates[rule];
      return packed ? new Response(inflated(packed)) : missing("This report does not hold these tokens.");
    }
    if (pathname.endsWith("/sample/top-logprobs") && sample.alternatives !== null) {
      const token = Number(searchParams.get("token"));
      return Response.json({ id: sample.reply.id, token, alternatives: await alternativesOf(sample, token) });
    }
    return missing("A report holds samples alone.");
  });
}

/** A response that holds a record, which saves converting megabytes to JSON and back. */
function answer(record: unknown): Response {
  const response = new Response();
  response.json = async () => record;
  return response;
}

/** The alternatives of the last requested sample. */
const last: { sample: ReportSample | null; all: Promise<Alternatives> | null } = { sample: null, all: null };

async function alternativesOf(sample: ReportSample, token: number): Promise<Alternative[]> {
  if (last.sample !== sample || last.all === null) {
    last.sample = sample;
    last.all = new Response(inflated(sample.alternatives ?? "")).json();
  }
  const { strings, counts, chosen, places, logprobs } = await last.all;
  const first = counts.slice(0, token).reduce((sum, count) => sum + count, 0);
  return places.slice(first, first + (counts[token] ?? 0)).map((place, number) => ({
    text: strings[place] ?? "",
    logprob: logprobs[first + number] ?? NaN,
    is_chosen: chosen[token] === number,
  }));
}

function missing(error: string): Response {
  return Response.json({ error, next: "Open the run in Rolloupe to see more.", place: null }, { status: 404 });
}

function inflated(base64: string): ReadableStream {
  return new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}
