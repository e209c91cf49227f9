/** Names of metrics without their common prefix: `reward.format` beside `reward.score` is `format`. */

/** The last separator in a name, if something follows it. */
const PARTS = /^(.*[./])[^./]+$/;

/** The common prefix of at least two names of a sample, up to a separator; empty if they share none. */
export function commonPrefix(names: readonly string[]): string {
  const [first, ...rest] = names;
  if (first === undefined || rest.length === 0) return "";
  let prefix = PARTS.exec(first)?.[1] ?? "";
  while (prefix !== "" && !rest.every((name) => name.startsWith(prefix)))
    prefix = PARTS.exec(prefix.slice(0, -1))?.[1] ?? "";
  return prefix;
}

/** A name without a prefix, if that leaves something. */
export const bareName = (name: string, prefix: string): string =>
  name.length > prefix.length && name.startsWith(prefix) ? name.slice(prefix.length) : name;

/** The last parts of names under which trainers log the reward again. */
const SCORES: ReadonlySet<string> = new Set(["reward", "score", "total", "total_reward", "final_reward"]);

/** True for a metric that has the name of the reward. */
export const isScore = (name: string): boolean => SCORES.has(name.split(/[./]/).at(-1) ?? "");
