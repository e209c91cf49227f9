import { expect, it } from "vitest";
import type { ColumnInfo } from "../../api/types.gen";
import { chartOf } from "./chart";
import { catalogueEntry as entry } from "../../testing/catalogue";
import { usualCharts } from "./defaultCharts";

const of = (...texts: string[]) => texts.map(chartOf);

const number = (name: string, source = "fixed", low = 0, high = 9): ColumnInfo => ({
  name,
  kind: "number",
  source,
  low,
  high,
  worst: null,
  best: null,
  label: "",
  unit: "",
  is_empty: false,
});
const NONE = { columns: [], series: [], entries: [], hasDiscarded: false, isOneStep: false };
const logged = (...names: string[]) => names.map((name) => entry("trainer", name));

it("takes length, KL, entropy, what was discarded and the parts of the reward", () => {
  const columns = [
    number("reward", "fixed", 0, 1),
    number("response_tokens"),
    number("prompt_tokens"),
    number("reward.format", "metric", 0, 0.2),
    number("num_tries", "metric"),
  ];
  expect(usualCharts({ ...NONE, columns, series: ["logprobs", "kl", "entropy"], hasDiscarded: true })).toEqual(
    of("response_tokens", "?kind=token&name=kl", "?kind=token&name=entropy", "discarded", "reward.format"),
  );
});

it("takes what the trainer logged where no sample has it, and after what samples have", () => {
  const entries = logged("optim/lr", "actor/entropy_loss", "actor/kl_loss", "actor/grad_norm", "perf/clip_ratio");
  expect(usualCharts({ ...NONE, columns: [number("response_chars")], entries })).toEqual(
    of("response_chars", "trainer.actor/kl_loss", "trainer.actor/entropy_loss", "trainer.actor/grad_norm"),
  );
  expect(usualCharts({ ...NONE, columns: [], series: ["kl"], entries })[0]).toMatchObject({
    kind: "token",
    name: "kl",
  });
});

it("takes what the trainer logged of the training before the same of an evaluation", () => {
  const entries = logged("eval/kl", "eval/loss", "train/kl", "train/loss");
  expect(usualCharts({ ...NONE, entries })).toEqual(
    of("trainer.train/kl", "trainer.train/loss", "trainer.eval/kl", "trainer.eval/loss"),
  );
  expect(usualCharts({ ...NONE, columns: [number("response_chars")], entries: entries.slice(0, 2) })).toEqual(
    of("response_chars"),
  );
});

it("takes what the trainer logged of a run that has no samples: what says most, then what comes first", () => {
  expect(
    usualCharts({
      ...NONE,
      entries: logged("time", "_step", "time/step", "optim/lr", "actor/grad_norm", "env/reward/mean"),
    }),
  ).toEqual(of("trainer.env/reward/mean", "trainer.actor/grad_norm", "trainer.time/step", "trainer.optim/lr"));
  expect(usualCharts({ ...NONE, entries: logged("a", "b", "c", "d", "e", "f") })).toHaveLength(5);
  expect(usualCharts(NONE)).toEqual([]);
});

it("leaves out numbers that never vary, and the reward under another name", () => {
  const columns = [
    number("reward", "fixed", 0, 1),
    number("turns", "fixed", 1, 1),
    number("score", "metric", 0, 1),
    number("response_tokens", "fixed", 5, 5),
  ];
  expect(usualCharts({ ...NONE, columns })).toEqual([]);
});

it("fills the pane of a plain run with what Metrics shows first", () => {
  const entries = [
    entry("sample", "reward", "Reward"),
    entry("sample", "response_tokens", "Length and status"),
    ...["all_best", "all_worst", "mixed"].map((name) => entry("group", name, "Groups")),
    entry("share", "truncated", "Length and status"),
    ...["length_right", "length_wrong"].map((name) => entry("outcome", name, "Length and status")),
  ];
  const given = { ...NONE, columns: [number("reward", "fixed", 0, 1), number("response_tokens")], entries };
  expect(usualCharts(given).map(({ name, title }) => title || name)).toEqual([
    "response_tokens",
    "Reward distribution",
    "Groups",
    "Length, right and wrong",
    "truncated",
  ]);
  expect(usualCharts({ ...given, isOneStep: true }).map(({ name }) => name)).toEqual(["response_tokens"]);
});
