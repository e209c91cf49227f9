/** How many steps a run is to have, as its configuration says. */

import { isRecord } from "./record";

/** Names of the number of steps in configurations of trainers, the surest first. */
const NAMES = [
  "max_steps",
  "total_training_steps",
  "max_train_steps",
  "number_of_steps",
  "total_steps",
  "num_train_steps",
  "train_steps",
  "training_steps",
  "num_rollout",
  "num_steps",
  "n_steps",
  "steps",
];
/** Parts of a configuration that count steps of something else. */
const OTHERS = /env|eval|sft|sched|warm|tool|agent|sampl|gener/i;
const MOST_DEPTH = 3;

/** The planned steps, and the key that says so; null if no key does. */
export function planOf(config: unknown): { steps: number; key: string } | null {
  for (const name of NAMES) {
    const [found] = within(config, name, "", 0);
    if (found !== undefined) return found;
  }
  return null;
}

function within(tree: unknown, name: string, way: string, depth: number): { steps: number; key: string }[] {
  if (!isRecord(tree) || depth > MOST_DEPTH) return [];
  const own = tree[name];
  const isCount = typeof own === "number" && Number.isInteger(own) && own > 0;
  const deeper = Object.entries(tree)
    .filter(([key]) => !OTHERS.test(key))
    .flatMap(([key, value]) => within(value, name, `${way}${key}.`, depth + 1));
  return isCount ? [{ steps: own, key: way + name }, ...deeper] : deeper;
}
