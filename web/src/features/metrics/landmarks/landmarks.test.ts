import { describe, expect, it } from "vitest";
import type { AlarmItem } from "../../../api/types.gen";
import { keyOfCurve } from "../../../lib/charts/catalogue";
import { landmarksIn, landmarksOf, MOST_SPOTS, spotsOf } from "./landmarks";

const ALARM: AlarmItem = {
  rule: "kl_spike",
  severity: "hint",
  title: "KL spikes",
  text: "",
  words: "",
  split: "",
  first_step: 40,
  last_step: 44,
  where: "",
  sort: "",
  descending: false,
  discarded: false,
  sample: "",
  token: null,
  series: "",
  curves: [],
};
const FRAME = { left: 48, width: 300, low: 0, high: 99, bottom: 0, top: 1 };
const steps = Array.from({ length: 100 }, (_, i) => i);
const saved = (...at: number[]) => at.map((step) => ({ step, name: `s${step}` }));
const reply = (checkpoints: { step: number; name: string }[]) => ({
  run: "r",
  version: "1",
  saved: checkpoints,
  resumed: [{ step: 41, launch: 2, again: 3 }],
  left_out: 0,
});

describe("landmarks of a chart", () => {
  it("are one where they are close, with the worst first", () => {
    const spots = spotsOf(landmarksOf(reply(saved(10, 42)), []), { steps }, FRAME);
    expect(spots.map(({ px, kind, lines }) => [Math.round(px), kind, lines])).toEqual([
      [78, "saved", ["Checkpoint s10, step 10"]],
      [172, "resumed", ["Resumed at step 41, launch 2: 3 steps recorded again", "Checkpoint s42, step 42"]],
    ]);
  });

  it("are above the chart where they are alarms, and one there with other alarms alone", () => {
    const worse = { ...ALARM, severity: "error", title: "KL is not finite", first_step: 42, last_step: 42 };
    const spots = spotsOf(landmarksOf(reply(saved(41)), [ALARM, worse]), { steps }, FRAME);
    expect(spots.map(({ kind, lines }) => [kind, lines])).toEqual([
      ["error", ["KL is not finite · step 42", "KL spikes · steps 40 to 44"]],
      ["resumed", ["Resumed at step 41, launch 2: 3 steps recorded again", "Checkpoint s41, step 41"]],
    ]);
    expect(spots[0]?.main.alarm).toBe(worse);
  });

  it("are never more than one can read, however many there are", () => {
    const many = landmarksOf(reply(saved(...steps)), []);
    expect(spotsOf(many, { steps }, FRAME)).toHaveLength(13);
    expect(spotsOf(many, { steps }, { ...FRAME, width: 5000 }).length).toBeLessThanOrEqual(MOST_SPOTS + 1);
    expect(spotsOf(many, { steps }, FRAME)[0]?.lines).toEqual(["8 checkpoints, steps 0 to 7"]);
  });

  it("are of an alarm in the charts of its curve alone", () => {
    const about = { ...ALARM, curves: [{ kind: "trainer", name: "kl", source: "" }] };
    const all = landmarksOf(reply(saved(3)), [about, ALARM]);
    const [kl, reward] = [
      keyOfCurve({ kind: "trainer", name: "kl", source: "" }),
      keyOfCurve({ kind: "sample", name: "reward", source: "train" }),
    ];
    const alarmsIn = (...keys: string[]) => landmarksIn(all, new Set(keys)).flatMap(({ alarm }) => alarm ?? []);
    expect([alarmsIn(kl), alarmsIn(kl, reward), alarmsIn(reward)]).toEqual([[about], [about], []]);
    expect(landmarksIn(all, new Set([reward]))).toHaveLength(2);
  });

  it("stand where their step is, whatever is across, and nowhere beyond the range", () => {
    const found = landmarksOf({ run: "r", version: "1", saved: saved(1, 3, 9), resumed: [], left_out: 0 }, []);
    const places = (frame = { left: 0, width: 300, low: 0, high: 30, bottom: 0, top: 1 }) =>
      spotsOf(found, { steps: [0, 1, 2], x: [0, 10, 30] }, frame).map(({ px }) => px);
    expect(places()).toEqual([100, 300]);
    expect(places({ left: 0, width: 300, low: 5, high: 20, bottom: 0, top: 1 })).toEqual([100]);
  });
});
