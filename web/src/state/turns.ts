/** Work on the same thing takes turns: each change of a mark names the version that the change before it made. */

const queues = new Map<string, Promise<unknown>>();

/** Do something after all that was asked of the same thing before, whether that succeeded or not. */
export async function inTurn(key: string, work: () => Promise<void>): Promise<void> {
  const turn = (queues.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
  queues.set(key, turn);
  try {
    await turn;
  } finally {
    if (queues.get(key) === turn) queues.delete(key);
  }
}
