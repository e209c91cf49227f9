/** The worst tokens of the group, the step or the run: those with the most extreme values of the shown series. */

import { computed, signal } from "@preact/signals";
import { askWorstTokens, isAlone, type TokenScope } from "../../api";
import type { TokenArray, RunWorstTokens } from "../../api/types.gen";
import { sideOf, worstOfBoth, type WorstSide } from "../../lib/tokens/worst";
import { AnswersStore, type Asked } from "./answers";

/** The length of the list. */
export const MOST_WORST = 12;

export type WorstOf = "sample" | "group" | "step" | "run";

/** The worst tokens of some samples; both sides are requested at once. */
export async function worstTokens(
  run: string,
  scope: TokenScope,
  series: Pick<TokenArray, "name" | "scale">,
  side: WorstSide = sideOf(series),
): Promise<RunWorstTokens> {
  const ask = (one: "high" | "low"): Promise<RunWorstTokens> =>
    askWorstTokens(run, { ...scope, series: series.name, side: one });
  return side === "both" ? worstOfBoth(...(await Promise.all([ask("high"), ask("low")]))) : ask(side);
}

export class TokenWorstStore extends AnswersStore<RunWorstTokens> {
  readonly of = signal<WorstOf>("sample");

  /** The worst tokens of the chosen group, step or run. */
  readonly rows = computed(() => this.now.value[0]?.tokens.slice(0, MOST_WORST) ?? []);

  protected readonly asked = computed<readonly Asked<RunWorstTokens>[]>(() => {
    const { sample, run: runs, tokens, tokenLook: look } = this.session;
    const [reply, series] = [sample.now.value, look.series.value];
    if (isAlone() || this.of.value === "sample" || !tokens.isWanted.value) return [];
    if (reply === null || series === null) return [];
    const { run, split, step, group } = reply;
    const of: Record<WorstOf, TokenScope> = {
      sample: {},
      group: { split, step, group },
      step: { split, step },
      run: {},
    };
    const scope = of[this.of.value];
    const subject = JSON.stringify([run, scope, series.name]);
    return [{ subject, key: `${subject} ${runs.now.value?.version}`, ask: () => worstTokens(run, scope, series) }];
  });
}
