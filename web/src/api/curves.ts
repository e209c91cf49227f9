/**
 * Loads curves. One request asks for all curves of a turn of the event loop, except trainer metrics, whose files are
 * slow to read.
 */

import { getCurves } from "./index";
import type { CurveData, CurveQuery } from "./types.gen";

/** More points than a chart has pixels; a longer curve keeps its extremes. */
const POINTS = 4000;
/** Points in one answer, over all curves and runs. */
const MOST_CURVES = 250;

interface Wish {
  curve: CurveQuery;
  give: (curves: CurveData[]) => void;
  fail: (error: unknown) => void;
}

const waiting = new Map<string, Wish[]>();

/** The curve of each run, in order. The `error` of a curve says why its run has none. */
export async function getCurve(runs: readonly string[], curve: CurveQuery): Promise<CurveData[]> {
  return new Promise((give, fail) => {
    const key = JSON.stringify([curve.kind === "trainer", ...runs]);
    const wishes = waiting.get(key) ?? [];
    if (wishes.length === 0) setTimeout(() => void send(key, [...runs]));
    waiting.set(key, [...wishes, { curve, give, fail }]);
  });
}

async function send(key: string, runs: string[]): Promise<void> {
  const wishes = waiting.get(key) ?? [];
  waiting.delete(key);
  try {
    const most = Math.max(1, Math.floor(MOST_CURVES / runs.length));
    for (let from = 0; from < wishes.length; from += most) {
      const some = wishes.slice(from, from + most);
      const curves = some.map((wish) => wish.curve);
      // oxlint-disable-next-line no-await-in-loop -- one answer cannot hold all points
      const reply = await getCurves({ runs, curves, points: POINTS, step_min: null, step_max: null, group_by: "" });
      for (const [at, { give }] of some.entries()) give(reply.curves.filter((one) => one.curve === at));
    }
  } catch (error) {
    for (const { fail } of wishes) fail(error);
  }
}
