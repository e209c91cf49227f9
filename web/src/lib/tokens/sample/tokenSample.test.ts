import { describe, expect, it } from "vitest";
import { tokenPage, tokenSample } from "../../../testing/tokens";
import { TokenSample } from "./tokenSample";

const USER = { role: "user", origin: "prompt" };
const MODEL = { role: "assistant", origin: "response" };

describe("the tokens of a sample", () => {
  it("are labelled by their text, or by their id", () => {
    const text = ["", "", "Ġso", "Ċ", "ðŁ"];
    const given = { text, ids: [5, 6, 7, 8, 9], turn: [0, 0, 1, 1, 1], spelling: "bytes" } as const;
    const tokens = tokenSample(given, [USER, MODEL]);
    expect([0, 2, 3, 4].map((token) => tokens.label(token))).toEqual(["5", " so", "↵\n", "◌"]);
    expect([tokens.raw(0), tokens.raw(2), tokens.text(0), tokens.id(2)]).toEqual([null, "Ġso", null, 7]);
    expect([tokens.endsLine(2), tokens.endsLine(3)]).toEqual([false, true]);
    expect([tokens.bytes(0), tokens.bytes(2), tokens.bytes(4)]).toEqual(["", "", "F0 9F"]);
    expect(tokens.segmentOf(3)?.role).toBe("assistant");
  });
  it("end before their padding: what repeats without a value, and tokens called so", () => {
    const pad = { text: ["a", "b", "<PAD>", "<PAD>"], series: { logprobs: [1, 2, NaN, NaN] } };
    expect(tokenSample(pad).count).toBe(2);
    expect(tokenSample({ ids: [1, 2, 0, 0, 0], series: { kl: [1, 1, NaN, NaN, NaN] } }).count).toBe(2);
    expect(tokenSample({ ids: [1, 2, 3], series: { kl: [1, 1, NaN] } }).count).toBe(3);
    expect(tokenSample({ ids: [1, 2, 0, 0], series: { kl: [1, 1, 1, 1] } }).count).toBe(4);
  });
  it("begin with the reader's series, or with the one that says most, never with a flag", () => {
    const tokens = tokenSample({ series: { loss_mask: [1], other: [1], entropy: [1] } });
    expect(tokens.usual("other")?.name).toBe("other");
    expect(tokens.usual("gone")?.name).toBe("entropy");
    expect(tokenSample({ series: { loss_mask: [1], other: [1] } }).usual("")?.name).toBe("other");
    expect(tokenSample({ ids: [1] }).usual("")).toBeNull();
  });
  it("are a table whose first rows are those that people compare most", () => {
    const tokens = tokenSample({ series: { odd: [1], logprobs: [1], kl: [1], token_rewards: [1], entropy: [1] } });
    expect(tokens.rows().map(({ name }) => name)).toEqual(["token_rewards", "kl", "logprobs", "odd", "entropy"]);
  });
  it("have a scale of trained tokens alone", () => {
    const tokens = tokenSample({ series: { loss_mask: [0, 1, 1], kl: [99, 2, 1] } });
    const [, kl] = tokens.series;
    expect(kl && tokens.ordered(kl)).toEqual(Float64Array.of(1, 2));
  });
  it("come in pages that join", () => {
    const one = { ...tokenPage({ text: ["a", "b"], ids: [1, 2], series: { kl: [1, 2] } }), total: 3 };
    const two = { ...tokenPage({ text: ["c"], ids: [3], series: { kl: [3] } }), total: 3, start: 2 };
    const tokens = new TokenSample([one, two], () => MODEL);
    expect([0, 1, 2].map((token) => `${tokens.label(token)}${tokens.id(token)}`)).toEqual(["a1", "b2", "c3"]);
    expect(tokens.named("kl")?.values).toEqual(Float64Array.of(1, 2, 3));
  });
});
