/** The update of the sample's group or step, under the rules that are chosen for its tokens. */

import { computed } from "@preact/signals";
import { getUpdateShares } from "../../api";
import type { UpdateWeights } from "../../lib/address/tokensAddress";
import type { UpdateReply } from "../../api/types.gen";
import { AnswersStore, type Asked } from "./answers";
import { askedRule } from "./update";

export class TokenSharesStore extends AnswersStore<UpdateReply> {
  /** How the run's loss weighs tokens; null if its configuration does not say. */
  readonly ofRun = computed<UpdateWeights | null>(() => this.session.tokenUpdate.rules.value[0]?.aggregation ?? null);

  readonly weights = computed<UpdateWeights>(
    () => this.session.place.field.updateWeights.value ?? this.ofRun.value ?? "token_mean",
  );

  protected readonly asked = computed<readonly Asked<UpdateReply>[]>(() => {
    const { sample, list, place, tokenUpdate: update } = this.session;
    const [reply, of, weights] = [sample.now.value, place.field.updateOf.value, this.weights.value];
    if (of === "sample" || !update.isShown.value || reply === null) return [];
    const { run, split, step, group } = reply;
    const scope = of === "group" ? { split, step, group } : { split, step };
    // The stamp changes with the samples of the step once the reader brings the list up to date.
    const stamp = list.now.value?.stamp ?? 0;
    const rules = update.chosen.value.map(askedRule);
    return rules.map((rule, at) => {
      // The answer for the first rule also says which tokens the second one treats differently.
      const against = at === 0 ? (rules[1] ?? null) : null;
      return {
        subject: JSON.stringify([run, scope, rule.name, weights]),
        key: JSON.stringify([run, scope, rule, weights, against, stamp]),
        ask: (signal) => getUpdateShares(run, scope, rule, weights, against, signal),
      };
    });
  });
}
