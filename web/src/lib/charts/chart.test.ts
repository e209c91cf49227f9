import { describe, expect, it } from "vitest";
import { type Chart, chart, chartOf, chartsOf, recordOf, spanFor, textOf, USUAL_SPAN } from "./chart";

describe("charts in an address", () => {
  it("are short for most, as they have always been", () => {
    expect(["response_tokens", "trainer.actor/kl_loss", "discarded", "a=b&c"].map(chartOf)).toEqual([
      chart("sample", "response_tokens"),
      chart("trainer", "actor/kl_loss"),
      chart("share", "discarded"),
      chart("sample", "a=b&c"),
    ]);
    expect(textOf(chart("trainer", "lr"))).toBe("trainer.lr");
    expect([chartOf(""), chartOf("?"), chartOf("?name=x")]).toEqual([null, null, null]);
  });
  it.each<Chart>([
    chart("sample", "turns"),
    chart("sample", "turns", { stat: "max" }),
    chart("sample", "discarded"),
    chart("sample", "trainer.x"),
    chart("sample", "?what"),
    chart("token", "entropy"),
    chart("eval", "", { source: "eval/aime", stat: "pass_at", options: { k: 4, threshold: 0.5 } }),
    chart("share", "discarded", { options: { reason: "too long & odd" } }),
    chart("trainer", "?"),
  ])("read back as what they were written from: %j", (one) => {
    expect(chartOf(textOf(one))).toEqual(one);
  });
});

it("takes stored charts of any version, and leaves out what is none", () => {
  const charts = chartsOf(
    ["turns", chart("token", "kl"), { kind: 3 }, 7, null, "turns", { kind: "sample", name: "x" }],
    9,
  );
  expect(charts).toEqual([chart("sample", "turns"), chart("token", "kl"), chart("sample", "x")]);
  const beyond = {
    get kind(): string {
      throw new Error("a chart beyond the most was looked at");
    },
  };
  expect(chartsOf(["a", "a", "b", beyond], 2)).toHaveLength(2);
});

it("asks for a moving average over the usual span, or over its own", () => {
  expect(recordOf(chart("sample", "turns"), "train").options?.smooth).toBe(USUAL_SPAN);
  const spans = ["50", "0"].map((smooth) => chartOf(`?kind=sample&name=turns&smooth=${smooth}`));
  expect(spans.map((one) => one && recordOf(one, "train").options?.smooth)).toEqual([50, 0]);
});

it("asks for the curve of the split of the page, or of its own", () => {
  expect(recordOf(chart("sample", "turns"), "train")).toMatchObject({ source: "train", options: { spread: true } });
  expect(recordOf(chart("eval", "", { source: "eval/x", options: { k: 4 } }), "train")).toMatchObject({
    source: "eval/x",
    options: { k: 4, spread: true },
  });
});

it("has in an address each look of a curve, and a curve of one look once", () => {
  const texts = [
    "reward",
    "?kind=sample&name=reward&where=turns+%3E+1",
    "?kind=sample&name=reward&figure=map",
    "reward",
  ];
  const read = chartsOf(texts, 9);
  expect(read.map(({ look }) => look)).toEqual([{}, { where: "turns > 1" }, { figure: "map" }]);
  expect(chartsOf(read.map(textOf), 9)).toEqual(read);
});

it("is not smoothed where it has few points and nobody asked for it", () => {
  expect([29, 30, 90, 9000].map((points) => spanFor(USUAL_SPAN, points))).toEqual([0, 5, 9, 50]);
  expect([spanFor(5, 3), spanFor(0, 99)]).toEqual([5, 0]);
});
