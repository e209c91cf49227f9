/** The splits to choose from: those of the run, and all evaluations together if there are several. */

import type { SplitItem } from "../../api/types.gen";
import { finite } from "../numbers/numbers";

/** Stands for every `eval/...`, in addresses and for the server. */
export const EVALS = "eval";

const isEval = ({ name }: SplitItem): boolean => name.startsWith("eval/");

export function choicesOf(splits: readonly SplitItem[]): readonly SplitItem[] {
  const evals = splits.filter(isEval);
  if (evals.length < 2 || splits.some(({ name }) => name === EVALS)) return splits;
  return [...splits.filter((one) => !isEval(one)), together(evals), ...evals];
}

/** A split in words for people. */
export const nameOfSplit = (name: string): string => (name === EVALS ? "eval (all)" : name);

/** True for a split that a choice covers. */
export const isOf = (split: string, choice: string | null): boolean =>
  split === choice || (choice === EVALS && split.startsWith("eval/"));

function together(evals: readonly SplitItem[]): SplitItem {
  const sum = (of: (one: SplitItem) => number): number => evals.reduce((all, one) => all + of(one), 0);
  const ends = (of: (one: SplitItem) => number | null): number[] => evals.flatMap((one) => of(one) ?? []);
  const least = (values: number[]): number | null => (values.length === 0 ? null : Math.min(...values));
  const most = (values: number[]): number | null => (values.length === 0 ? null : Math.max(...values));
  return {
    name: EVALS,
    steps: Math.max(...evals.map(({ steps }) => steps)),
    samples: sum(({ samples }) => samples),
    discarded: evals.some(({ discarded }) => discarded === null) ? null : sum(({ discarded }) => discarded ?? 0),
    first_step: least(ends(({ first_step }) => first_step)),
    last_step: most(ends(({ last_step }) => last_step)),
    reward_min: least(ends(({ reward_min }) => finite(reward_min))),
    reward_max: most(ends(({ reward_max }) => finite(reward_max))),
    // Means of different evaluations have no common mean.
    last_reward: null,
    last_response_tokens: null,
    last_response_chars: null,
  };
}
