/** What became of problems, and what each word means: as an address has it, in words, and why. */
export const KINDS: readonly [string, string, string][] = [
  ["solved", "solved", "Right in more than half of the answers at the last step, and not so at some step before"],
  ["lost", "lost", "Right in more than half of the answers at some step, and not so at the last"],
  ["mixed", "mixed", "Right now and then, never in more than half of the answers"],
  ["never", "never right", "No right answer at any step"],
  ["always", "held", "Right in more than half of the answers at every step"],
  ["unbeaten", "never beat the reference", "The best reward never was above that of the reference's answer"],
];

/** A verdict in words, and what it means. */
export function kindOf(verdict: string): { words: string; meaning: string } {
  const [, words = verdict, meaning = ""] = KINDS.find(([name]) => name === verdict) ?? [];
  return { words, meaning };
}
