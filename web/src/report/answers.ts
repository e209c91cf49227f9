/** The samples in the file, as answers to the questions that the page asks its server elsewhere. */

import { answerWith } from "../api/client";
import type { SampleReply } from "../api/types.gen";

/** A sample of the report. `tokens` is base64 of compressed bytes, as docs/tokens-wire.md describes them. */
export interface ReportSample {
  reply: SampleReply;
  preview: string;
  tokens: string | null;
  /** What a person wrote about it. */
  note: string;
}

/** What the file holds. */
export interface ReportData {
  title: string;
  about: string;
  made: string;
  /** The file with further samples; empty if this is the last. */
  next_file: string;
  samples: readonly ReportSample[];
}

/** Read the data of the file. */
export function reportData(): ReportData {
  return JSON.parse(document.querySelector("#data")?.textContent ?? "null") as ReportData;
}

/** Answer all questions of the page from the file. No request leaves it. */
export function startAnswers({ samples }: ReportData): void {
  const byId = new Map(samples.map((sample) => [sample.reply.id, sample]));
  answerWith(async (url) => {
    const { pathname, searchParams } = new URL(url);
    const sample = byId.get(searchParams.get("id") ?? "");
    if (sample === undefined) return missing("This report does not hold that sample.");
    if (pathname.endsWith("/sample")) return Response.json(sample.reply);
    if (pathname.endsWith("/sample/tokens") && !searchParams.has("rule"))
      return sample.tokens === null ? missing("This report holds no tokens.") : new Response(inflated(sample.tokens));
    return missing("A report holds samples alone.");
  });
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
