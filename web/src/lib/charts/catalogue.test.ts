import { describe, expect, it } from "vitest";
import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry, matching, patternOf, sectionsOf } from "./catalogue";
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
  it("keeps the k of pass@k", () => {
    const [one] = [entry("eval", "", "Evals", { source: "eval/aime", stat: "pass_at", k: 4 })].map(chartOfEntry);
    expect(one).toEqual(chartOf("?kind=eval&source=eval/aime&stat=pass_at&k=4"));
  });
  it("leaves the split of a chart open, except for an evaluation", () => {
    expect(chartOfEntry(entry("group", "mixed"))).toEqual(chartOf("?kind=group&name=mixed"));
    expect(RICH.filter(({ kind }) => kind === "eval").map(chartOfEntry)[1]).toEqual(
      chartOf("?kind=eval&source=eval/gsm8k&stat=score"),
    );
  });
});
