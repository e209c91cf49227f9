/** Names of the metrics that say most, and a way to find the first of them. */

/** The most parts of the reward with a chart. */
export const MOST_PARTS = 2;

export const KL: readonly RegExp[] = [
  /^(?:kl|ref_kl|kl_div|kl_loss|approx_kl)$/,
  /^mismatch_kl$/,
  /(?:^|[._/])mean_kl$/,
  /(?:^|[._/])(?:(?:ref_|mismatch_|approx_|avg_)?kl|kl_(?:div|loss|mean|sample_train_v1))(?:[._/](?:mean|all))?$/,
];
export const ENTROPY: readonly RegExp[] = [
  /^entropy$/,
  /(?:^|[._/])(?:policy_)?entropy(?:_loss)?(?:[._/](?:mean|all))?$/,
];
export const LOSS: readonly RegExp[] = [/(?:^|[._/])(?:pg_loss|policy_loss|actor_loss|loss)(?:[._/](?:mean|all))?$/];
export const REWARD: readonly RegExp[] = [
  /^rewards?$/,
  /(?:^|[._/])(?:rewards?|total_reward|score)(?:[._/](?:mean|avg|all|total))?$/,
];
/** Metrics that only record times. */
export const CLOCK = /^_?(?:time|timestamp|runtime|step|epoch)$/;
/** What the trainer measured on samples that it does not learn from. */
const OF_EVALUATION = /^(?:val|eval|test|validation)\b.*\//;
export const NORM: readonly RegExp[] = [/(?:^|[._/])grad_norm(?:[._/](?:mean|all))?$/];

/** Names that the trainer logged, without those of its evaluations. */
export const ofTraining = (logged: readonly string[]): string[] => logged.filter((name) => !OF_EVALUATION.test(name));

/** The first name that matches the first pattern with a match. */
export function first(patterns: readonly RegExp[], names: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const match = names.find((name) => pattern.test(name));
    if (match !== undefined) return match;
  }
  return undefined;
}
