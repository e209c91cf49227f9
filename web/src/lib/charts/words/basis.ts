/** What a number of a chart rests on: how many samples, and which definition where several numbers share a name. */

import type { CurveData } from "../../../api/types.gen";
import { count, figure } from "../../numbers/numbers";

/** The samples with a value, where some of the step have none; empty where each has one. */
export const samplesWith = (some: number, all: number): string =>
  some >= all ? "" : `over ${figure(some)} of ${count(all, "sample")}`;

/** The same of a point of a curve, or of its last one if it has no such point. */
export function samplesAt(data: Pick<CurveData, "with_value" | "samples"> | undefined, at: number): string {
  const { with_value: some, samples: all } = data ?? { with_value: null, samples: null };
  if (some === null || all === null || some.length === 0) return "";
  const place = at >= 0 && at < some.length ? at : some.length - 1;
  return samplesWith(some[place] ?? 0, all[place] ?? 0);
}

/** Trainers, token series and samples have each their own KL, entropy and logprobs, which differ. */
const AMBIGUOUS = /(?:^|[._/])(?:\w+_)?(?:kl|entropy|logprobs?)(?:_\w+)?$/i;
const DERIVED = /^derived\.(mean|max)_(.*)$/;

/** Which samples a share counts, where some were discarded. */
function countedOf({ kind, name }: { kind: string; name: string }): string {
  if (kind === "group") return "of groups with all their samples, discarded ones too";
  if (kind !== "share") return "";
  return name === "zero_advantage" ? "of the trained samples" : "of all samples, discarded ones too";
}

/** How a number was computed, where others of the same name were computed in another way; empty for all others. */
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
