import { describe, expect, it } from "vitest";
import { catalogueEntry as entry } from "../../testing/catalogue";
import { placedOf } from "./layout";
import { usualLayout } from "./usualLayout";

const RICH = [
  entry("sample", "reward", "Reward"),
  entry("sample", "advantage", "Reward"),
  ...["all_best", "all_worst", "without_spread", "mixed"].map((name) => entry("group", name, "Groups")),
  ...["prompt_tokens", "response_tokens", "response_chars"].map((name) => entry("sample", name, "Length and status")),
  entry("share", "truncated", "Length and status"),
  entry("share", "discarded", "Length and status"),
  entry("share", "discarded", "Length and status", { reason: "max_async", title: "Discarded: max_async" }),
  ...["length_right", "length_wrong"].map((name) => entry("outcome", name, "Length and status")),
  ...["logprobs", "mismatch_kl", "kl"].map((name) => entry("token", name, "Tokens")),
  entry("sample", "derived.max_kl", "Tokens"),
  ...["score", "pass_at"].map((stat) => entry("eval", "", "Evals", { source: "eval/aime", stat, title: stat, k: 0 })),
  entry("trainer", "actor/entropy", "actor"),
  entry("trainer", "actor/kl_loss", "actor"),
  entry("trainer", "optim/lr", "optim"),
];

describe("the charts of a run never seen", () => {
  it("are rewards and groups, the policy, lengths and evaluations, in sections of their own", () => {
    const placed = placedOf(usualLayout(RICH), RICH);
    expect(placed.map(({ section, title, series }) => [section, title, ...series.map(({ name }) => name)])).toEqual([
      ["Reward", "reward"],
      ["Reward", "Reward distribution"],
      ["Reward", "Groups", "all_best", "all_worst"],
      ["Policy", "kl"],
      ["Policy", "Entropy"],
      ["Policy", "mismatch_kl"],
      ["Length and status", "response_tokens"],
      ["Length and status", "Length, right and wrong", "length_wrong"],
      ["Length and status", "Truncated and discarded", "discarded"],
      ["Evals", "score"],
    ]);
    expect(placed[1]?.chart.look).toEqual({ figure: "map" });
  });

  it("have the rewards of the reference in the chart of the reward, and in no other", () => {
    const board = ["reward", "ref_reward", "valid_reward"].map((name) => entry("sample", name, "Reward"));
    const placed = placedOf(usualLayout(board), board);
    expect(placed[0]?.series.map(({ name }) => name)).toEqual(["ref_reward", "valid_reward"]);
    expect(placed.slice(1).map(({ title }) => title)).toEqual(["Reward distribution"]);
  });

  it("take characters where nobody counted tokens, and what the trainer logged", () => {
    const poor = [entry("sample", "response_chars"), ...RICH.filter(({ name }) => /^actor|lr$/.test(name))];
    expect(placedOf(usualLayout(poor), poor).map(({ name }) => name)).toEqual([
      "actor/kl_loss",
      "actor/entropy",
      "response_chars",
      "optim/lr",
    ]);
  });

  it("are of the training, not of evaluations that the trainer logged under the same names", () => {
    const names = ["eval/kl", "eval/entropy", "eval/env/all/reward/total", "train/kl", "train/entropy"];
    const logged = names.map((name) => entry("trainer", name));
    expect(usualLayout(logged).map(({ name }) => name)).toEqual([
      "train/kl",
      "train/entropy",
      "eval/kl",
      "eval/entropy",
      "eval/env/all/reward/total",
    ]);
  });

  it("have the parts of a reward that has no sum", () => {
    const parts = ["reward.correct", "reward.format", "reward.third"].map((name) => entry("sample", name, "Reward"));
    const some = [...parts, entry("sample", "response_chars")];
    expect(
      usualLayout(some)
        .slice(0, 3)
        .map(({ name }) => name),
    ).toEqual(["reward.correct", "reward.format", "response_chars"]);
  });

  it("draw the length of the texts once", () => {
    const some = [entry("sample", "response_chars"), entry("sample", "derived.characters"), entry("sample", "turns")];
    expect(usualLayout(some).map(({ name }) => name)).toEqual(["response_chars", "turns"]);
  });

  it("draw the mismatch once, and the trainer's KL beside it", () => {
    const names = ["mismatch_kl", "policy/kl", "policy/entropy"];
    const logged = names.map((name) => entry("trainer", name, "policy"));
    const layout = placedOf(usualLayout(logged), logged);
    expect(layout.map(({ name, title }) => [name, title])).toEqual([
      ["policy/kl", "KL"],
      ["policy/entropy", "Entropy"],
      ["mismatch_kl", "Mismatch KL"],
    ]);
  });

  it("have the gradient norm if it has room, and the trainer's evaluations if the run has no samples of any", () => {
    const names = [
      "actor/kl",
      "actor/grad_norm",
      "val-core/aime/acc",
      "val-core/gsm8k/acc",
      "validate_s",
      "eval/x/time",
    ];
    const logged = names.map((name) => entry("trainer", name));
    const found = placedOf(usualLayout(logged), logged).map(({ section, title }) => [section, title]);
    expect(found.slice(0, 4)).toEqual([
      ["Policy", "KL"],
      ["Policy", "Gradient norm"],
      ["Evals", "aime/acc"],
      ["Evals", "gsm8k/acc"],
    ]);
    const rich = [...RICH, ...logged];
    expect(placedOf(usualLayout(rich), rich).map(({ title }) => title)).not.toContain("Gradient norm");
    expect(placedOf(usualLayout(rich), rich).map(({ title }) => title)).not.toContain("aime/acc");
  });

  it("take the mean KL of samples before their largest one", () => {
    const some = [entry("sample", "derived.max_kl"), entry("sample", "derived.mean_kl")];
    expect(usualLayout(some).map(({ name }) => name)).toEqual(["derived.mean_kl", "derived.max_kl"]);
  });

  it("are filled up to five with losses and others, but never with clocks", () => {
    const logged = ["a", "b", "c", "policy_loss", "time", "train/grad_norm", "train/reward/mean", "z"];
    expect(usualLayout(logged.map((name) => entry("trainer", name))).map(({ name }) => name)).toEqual([
      "train/reward/mean",
      "train/grad_norm",
      "policy_loss",
      "a",
      "b",
    ]);
    expect(usualLayout([])).toEqual([]);
  });
});
