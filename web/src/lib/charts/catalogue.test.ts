import { describe, expect, it } from "vitest";
import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry, matching, patternOf, sectionsOf, usualMetrics } from "./catalogue";
import { chartOf } from "./chart";
import { catalogueEntry as entry } from "../../testing/catalogue";

const RICH = [
  entry("sample", "reward", "Reward"),
  entry("sample", "advantage", "Reward"),
  ...["all_best", "all_worst", "without_spread", "mixed"].map((name) => entry("group", name, "Groups")),
  ...["prompt_tokens", "response_tokens", "response_chars"].map((name) => entry("sample", name, "Length and status")),
  entry("share", "truncated", "Length and status"),
  ...["logprobs", "mismatch_kl", "kl"].map((name) => entry("token", name, "Tokens")),
  ...["aime", "gsm8k"].map((name) =>
    entry("eval", "", "Evals", { source: `eval/${name}`, stat: "score", title: name }),
  ),
  entry("trainer", "actor/entropy", "actor"),
  entry("trainer", "actor/kl_loss", "actor"),
  entry("trainer", "optim/lr", "optim"),
];
const namesOf = (entries: readonly CatalogueEntry[]) => entries.map(({ name, source }) => name || source);

describe("the charts of a run never seen", () => {
  it("are reward, groups, length, entropy, KL of both kinds and the first evaluation, in its order", () => {
    expect(namesOf(usualMetrics(RICH))).toEqual([
      "reward",
      "all_best",
      "all_worst",
      "without_spread",
      "response_tokens",
      "truncated",
      "mismatch_kl",
      "kl",
      "eval/aime",
      "actor/entropy",
    ]);
  });
  it("take characters where nobody counted tokens, and KL that the trainer logged", () => {
    const poor = [entry("sample", "response_chars"), ...RICH.filter(({ name }) => /^reward|^actor|lr$/.test(name))];
    expect(namesOf(usualMetrics(poor))).toEqual([
      "response_chars",
      "reward",
      "actor/entropy",
      "actor/kl_loss",
      "optim/lr",
    ]);
  });
  it("are filled up to five with losses and others, but never with clocks", () => {
    const logged = ["a", "b", "c", "policy_loss", "time", "train/grad_norm", "train/reward/mean", "z"];
    expect(namesOf(usualMetrics(logged.map((name) => entry("trainer", name))))).toEqual([
      "a",
      "b",
      "policy_loss",
      "train/grad_norm",
      "train/reward/mean",
    ]);
    expect(usualMetrics([])).toEqual([]);
  });
});

describe("the catalogue", () => {
  it("is found by a regular expression over names, titles and sections, in any case", () => {
    const found = (text: string) => {
      const pattern = patternOf(text);
      return typeof pattern === "string" ? pattern : namesOf(matching(RICH, pattern));
    };
    expect(found("KL|entropy")).toEqual(["mismatch_kl", "kl", "actor/entropy", "actor/kl_loss"]);
    expect(found("^evals/")).toEqual(["eval/aime", "eval/gsm8k"]);
    expect(found("")).toHaveLength(RICH.length);
    expect(found("kl(")).toMatch(/group/i);
  });
  it("has its sections in order, each once", () => {
    const sections = sectionsOf(RICH);
    expect(sections.map(({ name, entries }) => [name, entries.length])).toEqual([
      ["Reward", 2],
      ["Groups", 4],
      ["Length and status", 4],
      ["Tokens", 3],
      ["Evals", 2],
      ["actor", 2],
      ["optim", 1],
    ]);
  });
  it("leaves the split of a chart open, except for an evaluation", () => {
    expect(chartOfEntry(entry("group", "mixed"))).toEqual(chartOf("?kind=group&name=mixed"));
    expect(RICH.filter(({ kind }) => kind === "eval").map(chartOfEntry)[1]).toEqual(
      chartOf("?kind=eval&source=eval/gsm8k&stat=score"),
    );
  });
});
