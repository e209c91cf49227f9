import { describe, expect, it } from "vitest";
import type { RunItem, RunMetricItem } from "../../../api/types.gen";
import { chart } from "../../../lib/charts/chart";
import { activity } from "../../../state/run/activity";
import {
  type Column,
  configColumn,
  differingOf,
  fitting,
  headingOf,
  type Key,
  NAME_PX,
  sortable,
  sorted,
  turned,
} from "./columns";
import { metricColumn, type ValueKind } from "../metric/metricColumn";
import { sparkOf } from "../useSpark";
import { runItem, splitItem } from "../../../testing/records";

const run = (
  name: string,
  more: Partial<RunItem> = {},
  last: { reward?: number | null; tokens?: number | null; chars?: number | null } = {},
): RunItem =>
  runItem({
    id: name,
    name,
    path: `/work/${name}`,
    live: false,
    has_grown: false,
    changed_s: null,
    splits: [
      splitItem({
        samples: 4,
        first_step: 0,
        last_step: 0,
        last_reward: last.reward ?? null,
        last_response_tokens: last.tokens ?? null,
        last_response_chars: last.chars ?? null,
      }),
    ],
    ...more,
  });
const NONE = differingOf(null);
const column = (key: Key): Column | undefined => sortable([], NONE).find((one) => one.key === key);
const names = (items: readonly RunItem[]): string => items.map(({ name }) => name).join(" ");

describe("the table of runs", () => {
  it("sorts by any column, and what has no value is last either way", () => {
    const items = [run("a"), run("b", {}, { reward: 0.2 }), run("c", {}, { reward: 0.9 }), run("d")];
    expect(names(sorted(items, column("reward"), true))).toBe("c b a d");
    expect(names(sorted(items, column("reward"), false))).toBe("b c a d");
    expect(names(sorted(items, undefined, false))).toBe("a b c d");
    expect(names(sorted([run("grpo-10"), run("grpo-9")], column("name"), false))).toBe("grpo-9 grpo-10");
    const written = [run("old", { changed_s: 4000 }), run("none"), run("new", { changed_s: 5 })];
    expect(names(sorted(written, column("changed"), true))).toBe("new old none");
    expect(names(sorted(written, column("changed"), false))).toBe("old new none");
    const doing = [
      run("unknown"),
      run("ended", { ending: "ended" }),
      run("stalled", { ending: "open", changed_s: 4000 }),
      run("running", { ending: "open", changed_s: 1 }),
    ];
    expect(names(sorted(doing, column("status"), false))).toBe("running stalled ended unknown");
  });
  it("compares tokens with tokens, and characters with characters", () => {
    const items = [
      run("chars", {}, { chars: 9000 }),
      run("short", {}, { tokens: 10 }),
      run("long", {}, { tokens: 900 }),
      run("few", {}, { chars: 5 }),
    ];
    expect(names(sorted(items, column("length"), true))).toBe("long short chars few");
    expect(names(sorted(items, column("length"), false))).toBe("short long few chars");
  });
  it("sorts by what differs in the configuration, numbers before words", () => {
    const differing = differingOf({
      keys: ["optim.lr"],
      telling: 1,
      runs: [
        { run: "a", values: ["1e-5"] },
        { run: "b", values: ["auto"] },
        { run: "c", values: [null] },
        { run: "d", values: ["0.0001"] },
      ],
      left: 0,
    });
    const items = ["a", "b", "c", "d"].map((name) => run(name));
    expect(names(sorted(items, configColumn("optim.lr", differing), false))).toBe("a d b c");
    expect(configColumn("optim.lr", differing)).toMatchObject({ label: "lr", isNumber: false });
    const numbers = new Map([...differing].filter(([name]) => name !== "b"));
    expect(configColumn("optim.lr", numbers).isNumber).toBe(true);
  });
  it("turns one way, the other way, and back to the order in which runs were found", () => {
    const reward = column("reward");
    if (reward === undefined) throw new Error("no column");
    const once = turned(null, reward);
    expect(once).toEqual({ key: "reward", isDescending: true });
    const twice = turned(once, reward);
    expect(twice).toEqual({ key: "reward", isDescending: false });
    expect(turned(twice, reward)).toBeNull();
  });
  it("shows as many columns as fit, and keys of the configuration where there is room", () => {
    const keys = ["lr", "kl", "model", "seed", "a", "b", "c", "d"];
    for (let px = 640; px < 3000; px += 37) {
      const shown = fitting(px, keys, NONE);
      expect(shown.reduce((sum, one) => sum + one.px, NAME_PX)).toBeLessThanOrEqual(px);
      expect(shown.map(({ key }) => key)).toContain("reward");
    }
    expect(fitting(640, keys, NONE).map(({ key }) => key)).not.toContain("config:lr");
    expect(fitting(1616, keys, NONE).map(({ key }) => key)).toContain("config:model");
  });
  it("has a chosen metric beside the reward, in any width, and sorts by the chosen value", () => {
    const item = (id: string, last: number | null, highest: number | null): RunMetricItem => ({
      run: id,
      last,
      highest,
      lowest: last,
      smooth: "NaN",
      last_step: 1,
    });
    const metrics = new Map([item("a", 1, 9), item("b", 3, 4)].map((one) => [one.run, one]));
    const of = (kind: ValueKind): Column =>
      metricColumn({ chart: chart("trainer", "loss"), title: "loss", kind }, metrics);
    for (const px of [NAME_PX + 240, 900, 2000]) {
      const keys = fitting(px, [], NONE, of("last")).map(({ key }) => key);
      expect(keys[keys.indexOf("reward") + 1]).toBe("metric");
    }
    const order = (kind: ValueKind): string[] =>
      sorted([run("c"), run("a"), run("b")], of(kind), true).map(({ id }) => id);
    expect(order("last")).toEqual(["b", "a", "c"]);
    expect(order("highest")).toEqual(["a", "b", "c"]);
    expect(order("smoothed")).toEqual(["c", "a", "b"]);
    const shares = metricColumn({ chart: chart("share", "truncated"), title: "Truncated", kind: "last" }, metrics);
    expect([of("last").write?.(0.25), shares.write?.(0.25)]).toEqual(["0.250", "25%"]);
  });
  it("says that a run goes on only where that is known", () => {
    expect(activity("", 5, 600, false)).toBe("unknown");
    expect(activity("", 5, 600, true)).toBe("running");
    expect(activity("", 5000, 600, true)).toBe("unknown");
    expect(activity("open", 5, 600, false)).toBe("running");
    expect(activity("open", 5000, 600, false)).toBe("stalled");
    expect(activity("ended", 5, 600, true)).toBe("ended");
  });
  it("draws no curve of one step", () => {
    const reply = {
      run: "r",
      split: "train",
      version: "1",
      steps: [1, 2, 3],
      samples: [],
      discarded: [],
      reward_mean: [0.5, null, "NaN"],
      reward_std: [],
      reward_excluded: [],
      states: {},
      stamps: [],
    };
    expect(sparkOf(reply, 0).d).toBe("");
    expect(sparkOf({ ...reply, reward_mean: [0.25, null, 1] }, 0).words).toBe("From 0.250 at step 1 to 1.00 at step 3");
  });
});

it("a heading is above the runs of a group, if they are the last ones", () => {
  const items = ["", "Others", "Others"].map((group) => runItem({ group }));
  const headings = (all: RunItem[]): string[] => all.map((_, row) => headingOf(all, row));
  expect(headings(items)).toEqual(["", "Others", ""]);
  expect(headings(items.toReversed())).toEqual(["", "", ""]);
});
