/** The error that the logs of a message report. */

import { isRecord } from "../data/record";

/** The error that a message reports: a sentence, or just the word. */
export function errorOf(logs: unknown): string {
  if (!isRecord(logs)) return "";
  const { error, is_error: isError } = logs;
  if (typeof error === "string") return error;
  return error || isError === true || isError === "true" ? "error" : "";
}
