/** The verdicts on prompts: their names in addresses and on the page, and their meanings. */
export const KINDS: readonly [string, string, string][] = [
  ["solved", "solved", "More than half of the answers are correct at the last step, but not at some earlier step"],
  ["lost", "lost", "More than half of the answers were correct at some step, but not at the last"],
  ["mixed", "mixed", "Some answers are correct, but never more than half"],
  ["never", "never correct", "No correct answer at any step"],
  ["always", "held", "More than half of the answers are correct at every step"],
  ["unbeaten", "never beat the reference", "No answer has a higher reward than the reference answer of its own row"],
];

/** The name of a verdict on the page, and its meaning. */
export function kindOf(verdict: string): { words: string; meaning: string } {
  const [, words = verdict, meaning = ""] = KINDS.find(([name]) => name === verdict) ?? [];
  return { words, meaning };
}
