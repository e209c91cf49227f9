/**
 * The page's side of the rendering worker: one task at a time, each with a time limit; a worker that exceeds it is
 * replaced.
 */

import workerUrl from "../../lib/render/render.worker.ts?worker&url";
import type { How } from "../../lib/render/markdown";
import type { Result, Task } from "../../lib/render/render.worker";
import type { Rendered } from "../../lib/render/tree";
import { Lru } from "../../lib/data/lru";
import { trusted } from "../../lib/trustedScript";

/** A tenth of a second is usual; a task that takes this long on a busy machine would not end soon. */
const BUDGET_MS = 5000;
/** The worker's own code has to load first, perhaps over a slow tunnel. */
const START_MS = 60_000;

interface Waiting {
  task: Task;
  settle: (result: Result | null) => void;
  isWanted: () => boolean;
}

const waiting: Waiting[] = [];
const cache = new Lru<Rendered>(4_000_000, (rendered) => ("nodes" in rendered ? rendered.size * 60 : 100));
let worker: Worker | null = null;
let isReady = false;
let isBusy = false;
let count = 0;

/** Render a text; null if nobody wants it any longer when its turn comes. */
export async function draw(text: string, how: How, isWanted: () => boolean): Promise<Rendered | null> {
  const key = `${how.markdown ? 1 : 0}${how.latex ? 1 : 0}${how.code ? 1 : 0}${text}`;
  const cached = cache.peek(key);
  if (cached !== undefined) return cached;
  const result = await ask({ kind: "rich", text, how }, isWanted);
  if (result === null || "text" in result) return null;
  cache.put(key, result);
  return result;
}

/** Indented JSON; unchanged if that takes too long. */
export async function indent(text: string): Promise<string> {
  const result = await ask({ kind: "indent", text }, () => true);
  return result !== null && "text" in result ? result.text : text;
}

function ask(task: Task, isWanted: () => boolean): Promise<Result | null> {
  return new Promise((settle) => {
    waiting.push({ task, settle, isWanted });
    next();
  });
}

function next(): void {
  if (isBusy) return;
  const job = waiting.shift();
  if (job === undefined) return;
  if (!job.isWanted()) {
    job.settle(null);
    next();
    return;
  }
  isBusy = true;
  void run(job.task).then((result) => {
    isBusy = false;
    job.settle(result);
    next();
  });
}

function run(task: Task): Promise<Result> {
  return new Promise((settle) => {
    const current = (worker ??= started());
    count += 1;
    const id = count;
    const end = (result: Result): void => {
      clearTimeout(timer);
      current.onmessage = null;
      current.onerror = null;
      settle(result);
    };
    const fail = (why: string): void => {
      current.terminate();
      worker = null;
      isReady = false;
      end({ refused: why });
    };
    const timer = setTimeout(() => fail("it took too long"), isReady ? BUDGET_MS : START_MS);
    current.onmessage = ({ data }: MessageEvent<{ id: number; result: Result }>) => {
      isReady = true;
      if (data.id === id) end(data.result);
    };
    current.onerror = () => fail("the renderer did not start");
    current.postMessage({ id, task });
  });
}

function started(): Worker {
  return new Worker(trusted(new URL(workerUrl, import.meta.url).href), { type: "module", name: "render" });
}
