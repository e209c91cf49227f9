/** A queue for each mark: each change names the version that the previous change made. */

const queues = new Map<string, Promise<unknown>>();

/** Run a task after all earlier tasks of the same key, whether they succeeded or not. */
export async function inTurn(key: string, work: () => Promise<void>): Promise<void> {
  const turn = (queues.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
  queues.set(key, turn);
  try {
    await turn;
  } finally {
    if (queues.get(key) === turn) queues.delete(key);
  }
}
