/** Says in a sentence which KL penalty of the loss an update leaves out; empty for none. */

import type { UpdateRuleInfo } from "../../api/types.gen";
import { harmless } from "../text/invisible";

type Penalties = Pick<UpdateRuleInfo, "kl_weight" | "kl_setting" | "left_out" | "aggregation">;

/** `weight` is that of the update, null if the record lacks the reference's logprobs. */
export function omittedPenalty(ofRun: Penalties, weight: number | null): string {
  const own: [string, number] = [ofRun.kl_setting || "weight", ofRun.kl_weight];
  const isOwn = ofRun.kl_weight !== 0 && (weight ?? 0) === 0;
  const omitted = [...(isOwn ? [own] : []), ...Object.entries(ofRun.left_out)];
  if (omitted.length > 0) {
    const named = omitted.map(([setting, value]) => `${harmless(setting)} = ${value}`).join(", ");
    const reason = isOwn && weight === null ? ", for the record has no ref_logprobs" : "";
    return `The KL penalty of the loss (${named}) is omitted${reason}. `;
  }
  const isUnknown = ofRun.aggregation === null && (weight ?? 0) === 0;
  return isUnknown ? "A KL penalty of the loss, if it has one, is omitted. " : "";
}
