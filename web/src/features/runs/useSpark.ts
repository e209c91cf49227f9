/**
 * The mean reward of a run by step, as a small curve: loaded while its row is on the screen, a few at a time, and
 * cached.
 */

import { useEffect, useState } from "preact/hooks";
import { getSteps } from "../../api";
import type { RunItem, StepsReply } from "../../api/types.gen";
import { path } from "../../lib/numbers/curves";
import { Lru } from "../../lib/data/lru";
import { figure, finite, score } from "../../lib/numbers/numbers";
import { Queue } from "../../lib/data/queue";
import { mainSplit } from "./table/columns";

export const WIDTH = 100;
export const HEIGHT = 20;
/** A growing run is not loaded more often than this. */
const AGAIN_MS = 5000;

export interface Spark {
  version: string;
  askedMs: number;
  /** For an SVG path; empty with fewer than two steps. */
  d: string;
  words: string;
}

const turns = new Queue(3);
/** A curve takes a few kilobytes. */
const cache = new Lru<Spark>(1000);

export function sparkOf(reply: StepsReply, askedMs: number): Spark {
  const means = reply.reward_mean.map(finite);
  const places = means.flatMap((mean, i) => (mean === null ? [] : [i]));
  const [first, last] = [places[0], places.at(-1)];
  if (first === undefined || last === undefined || places.length < 2)
    return { version: reply.version, askedMs, d: "", words: "" };
  const at = (i: number): string => `${score(means[i] ?? null)} at step ${figure(reply.steps[i])}`;
  return {
    version: reply.version,
    askedMs,
    d: path(reply.steps, means, WIDTH, HEIGHT),
    words: `From ${at(first)} to ${at(last)}`,
  };
}

/** The loaded curve; null while loading, and for a run without steps. */
export function useSpark(item: RunItem): Spark | null {
  const split = mainSplit(item);
  const key = `${item.id}\n${split?.name}`;
  const [, draw] = useState(0);
  const spark = cache.peek(key) ?? null;
  useEffect(() => {
    const current = cache.peek(key);
    if (split === null || current?.version === item.version) return undefined;
    let isWanted = true;
    const load = async (): Promise<void> => {
      const reply = await turns
        .take(
          () => getSteps(item.id, split.name),
          () => isWanted,
        )
        .catch(() => null);
      if (reply === null) return;
      cache.put(key, sparkOf(reply, performance.now()));
      if (isWanted) draw((n) => n + 1);
    };
    const timer = setTimeout(
      () => void load(),
      current === undefined ? 0 : Math.max(0, current.askedMs + AGAIN_MS - performance.now()),
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
    // The key and the version identify the request.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [key, item.version]);
  return spark;
}
