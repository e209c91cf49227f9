/**
 * Loads ahead while no other request is open: the samples next to this one, then the neighbouring steps. A reader who
 * goes from step to step gets the next one first.
 */

import type { Session } from "../session";
import { untracked } from "@preact/signals";
import type { Scope } from "../../lib/list/scope";
import { idAt, idOfRow } from "../list/browse";
import { isVisible } from "../browser/visibility";

const BESIDE = [1, -1, 2];
/** The number of samples ahead, which holding a key down passes in a fifth of a second. */
const FURTHER = [3, 4, 5, 6];
/** Only one larger sample is loaded ahead: each takes its time. */
const SMALL_CHARS = 200_000;

export function startPrefetch(session: Session): void {
  let round = 0;
  let last = { run: session.place.now.peek().run, index: -1 };
  session.effect(() => {
    const at = session.place.now.value;
    if (!session.sample.isShown.value || session.list.isBehind.value || !isVisible.value || at.page !== "rollouts")
      return;
    round += 1;
    const thisRound = round;
    const now = { run: at.run, index: session.steps.index.peek() };
    const isKnown = now.run === last.run && Math.min(now.index, last.index) >= 0;
    const way = isKnown ? Math.sign(now.index - last.index) : 0;
    last = now;
    const tasks = untracked(() => {
      const samples = samplesBeside(session);
      const [ahead, behind] = [way || 1, -way || -1].map((by) => stepBeside(session, by)) as [Task[], Task[]];
      return way === 0 ? [...samples, ...ahead, ...behind] : [...ahead, ...samples, ...behind];
    });
    // After the frame that shows the sample.
    requestAnimationFrame(() => setTimeout(() => void inTurn(tasks, () => thisRound === round)));
  });
}

type Task = () => Promise<unknown>;

async function inTurn(tasks: readonly Task[], isWanted: () => boolean): Promise<void> {
  for (const task of tasks) {
    if (!isWanted()) return;
    try {
      // oxlint-disable-next-line no-await-in-loop -- one at a time, so that the next request does not wait
      await task();
    } catch {
      // A failed request is repeated, and its error shown, when the reader goes there.
    }
  }
}

function samplesBeside(session: Session): Task[] {
  const list = session.list.now.peek();
  const here = session.list.position.peek();
  if (list === null || here === null) return [];
  const isSmall = (session.sample.now.peek()?.chars ?? Infinity) < SMALL_CHARS;
  const ids = [...BESIDE, ...(isSmall ? FURTHER : [])].flatMap((step) => idAt(list, here + step) ?? []);
  return ids.map((id) => () => session.sample.prefetch(list.scope.run, id));
}

function stepBeside(session: Session, by: number): Task[] {
  const here = session.steps.index.peek();
  const step = session.steps.reply.peek()?.steps[here + by];
  if (here < 0 || step === undefined || session.place.now.peek().extent !== "step") return [];
  const of = session.list.scopeAt({ ...session.place.now.peek(), step });
  return of === null ? [] : [async () => firstOf(session, of)];
}

async function firstOf(session: Session, of: Scope): Promise<string | null> {
  const list = await session.list.listOf(of);
  const first = idOfRow(list, 0) ?? null;
  if (first !== null) await session.sample.prefetch(of.run, first);
  return first;
}

/** Load all that the page shows of a step: its list, its first sample, and the life of its prompt. Its first sample. */
export async function wholeStep(session: Session, of: Scope): Promise<string | null> {
  const first = await firstOf(session, of);
  if (first !== null) await session.prompt.prepare(await session.sample.reply(of.run, first));
  return first;
}
