/** The basis of a chart's number: its samples, and its definition if several numbers share a name. */

import type { CurveData } from "../../../api/types.gen";
import { count, figure } from "../../numbers/numbers";

/** The number of samples with a value, if some samples of the step have none; else empty. */
export const samplesWith = (some: number, all: number, what = "a value"): string =>
  some >= all ? "" : `${figure(some)} of ${count(all, "sample")} ${some === 1 ? "has" : "have"} ${what}`;

/** The same for a point of a curve, else for its last point. */
export function samplesAt(
  data: Pick<CurveData, "with_value" | "samples"> | undefined,
  at: number,
  what?: string,
): string {
  const { with_value: some, samples: all } = data ?? { with_value: null, samples: null };
  if (some === null || all === null || some.length === 0) return "";
  const place = at >= 0 && at < some.length ? at : some.length - 1;
  return samplesWith(some[place] ?? 0, all[place] ?? 0, what);
}

/** Trainers, token series and samples have each their own KL, entropy and logprobs, which differ. */
const AMBIGUOUS = /(?:^|[._/])(?:\w+_)?(?:kl|entropy|logprobs?)(?:_\w+)?$/i;
const DERIVED = /^derived\.(mean|max)_(.*)$/;

/** What the samples of a number have, of which others have none. */
export const neededBy = ({ kind, name }: { kind: string; name: string }): string | undefined =>
  kind === "token" || (kind === "sample" && DERIVED.test(name)) ? "recorded tokens" : undefined;

/** The samples that a share counts, if some were discarded. */
function countedOf({ kind, name }: { kind: string; name: string }): string {
  if (kind === "group") return "of groups with all their samples, discarded ones too";
  if (kind !== "share") return "";
  return name === "zero_advantage" ? "of the trained samples" : "of all samples, discarded ones too";
}

/** How a number was computed, if others of the same name were computed differently; else empty. */
export function definitionOf(
  { kind, name }: { kind: string; name: string },
  { hasDiscarded = false }: { hasDiscarded?: boolean } = {},
): string {
  const counted = hasDiscarded ? countedOf({ kind, name }) : "";
  if (counted !== "") return counted;
  if (!AMBIGUOUS.test(name)) return "";
  if (kind === "trainer") return "as the trainer computed it";
  if (kind === "token") return "over all tokens of the step";
  if (kind !== "sample") return "";
  const [, which, of] = DERIVED.exec(name) ?? [];
  if (which === undefined) return "of each sample, as recorded";
  const words = which === "max" ? "largest of the tokens of each sample" : "mean over the tokens of each sample";
  return of === "kl" ? `${words}: KL as recorded, else k3` : words;
}
