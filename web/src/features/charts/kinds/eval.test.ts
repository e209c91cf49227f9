import { describe, expect, it } from "vitest";
import { START } from "../../../lib/address/address";
import { chart } from "../../../lib/charts/chart";
import { createSession } from "../../../state/session";
import { kindOf } from "./index";

const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1 });
const kind = kindOf("eval");
const of = (stat: string, name = "", source = "eval/aime") =>
  chart("eval", name, { source, stat, options: stat.startsWith("pass") ? { k: 4 } : null });

describe("charts of an evaluation", () => {
  it("say what is estimated, of which evaluation and by which metric", () => {
    const words = [
      of(""),
      of("correct"),
      of("pass_at", "acc"),
      of("pass_all"),
      of("prompts", "", "eval"),
      of("", "", ""),
    ];
    expect(words.map((one) => kind.words(one, session))).toEqual([
      "score of eval/aime",
      "right answers of eval/aime",
      "pass@4 of eval/aime by acc",
      "pass^4 of eval/aime",
      "prompts of eval (all)",
      "score of the first evaluation",
    ]);
    expect(kind.figure).not.toBe("mean");
  });
  it("lie between 0 and 1 if they are shares, above 0 if they count", () => {
    expect(["correct", "pass_at", "pass_all"].map((stat) => kind.bounds(of(stat), session))).toEqual(
      Array.from({ length: 3 }, () => [0, 1]),
    );
    expect(kind.bounds(of("samples"), session)).toEqual([0, null]);
    expect(kind.bounds(of("score"), session)).toEqual([null, null]);
  });
});
