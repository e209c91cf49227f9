/** Compares records of JSON, and estimates their size, without serialising them: their texts may have megabytes. */

/** True if two records are alike. */
export function isSame(first: unknown, second: unknown): boolean {
  if (first === second || typeof first !== "object" || typeof second !== "object") return first === second;
  if (first === null || second === null || Array.isArray(first) !== Array.isArray(second)) return false;
  const [own, others] = [Object.entries(first), new Map(Object.entries(second))];
  return (
    own.length === others.size && own.every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  );
}

/** The approximate number of characters in a record. */
export function weight(record: unknown): number {
  if (typeof record === "string") return record.length;
  if (typeof record !== "object" || record === null) return 8;
  return Object.entries(record).reduce((sum, [name, value]) => sum + name.length + weight(value), 8);
}
