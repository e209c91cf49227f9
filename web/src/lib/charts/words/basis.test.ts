import { describe, expect, it } from "vitest";
import { definitionOf, neededBy, samplesAt, samplesWith } from "./basis";

describe("the number of samples that a figure rests on", () => {
  it("is named where some samples of the step have no value, and nowhere else", () => {
    expect(samplesWith(8, 64)).toBe("8 of 64 samples have a value");
    expect(samplesWith(1, 64)).toBe("1 of 64 samples has a value");
    const needed = neededBy({ kind: "sample", name: "derived.mean_kl" });
    expect(samplesWith(8, 64, needed)).toBe("8 of 64 samples have recorded tokens");
    expect(samplesWith(64, 64)).toBe("");
    expect(samplesAt(undefined, 0)).toBe("");
    expect(samplesAt({ with_value: null, samples: null }, 0)).toBe("");
  });

  it("is that of the pointed step, else of the last one", () => {
    const data = { with_value: [8, 16, 64], samples: [64, 64, 64] };
    expect(samplesAt(data, 1)).toBe("16 of 64 samples have a value");
    expect(samplesAt(data, 2)).toBe("");
    expect(samplesAt({ with_value: [8, 9], samples: [64, 64] }, -1)).toBe("9 of 64 samples have a value");
  });
});

describe("numbers that share a name", () => {
  it("say how each was computed: by the trainer, over all tokens, or of each sample", () => {
    expect(definitionOf({ kind: "trainer", name: "actor/kl" })).toBe("as the trainer computed it");
    expect(definitionOf({ kind: "token", name: "entropy" })).toBe("over all tokens of the step");
    const derived = definitionOf({ kind: "sample", name: "derived.mean_kl" });
    expect(derived).toBe("mean over the tokens of each sample: KL as recorded, else k3");
    expect(definitionOf({ kind: "sample", name: "derived.max_mismatch_kl" })).toMatch(/^largest of the tokens/);
    expect(definitionOf({ kind: "sample", name: "avg_kl" })).toBe("of each sample, as recorded");
  });

  it("are few: others need no definition", () => {
    const plain = ["reward", "response_tokens", "grad_norm", "derived.repetition"];
    expect(plain.map((name) => definitionOf({ kind: "sample", name }))).toEqual(["", "", "", ""]);
    expect(definitionOf({ kind: "trainer", name: "loss" })).toBe("");
  });
});

it("says of a share which samples count, where some were discarded", () => {
  const of = (kind: string, name: string): string => definitionOf({ kind, name }, { hasDiscarded: true });
  expect([
    of("share", "completed"),
    of("share", "zero_advantage"),
    of("group", "without_spread"),
    of("sample", "x"),
  ]).toEqual([
    "of all samples, discarded ones too",
    "of the trained samples",
    "of groups with all their samples, discarded ones too",
    "",
  ]);
  expect(definitionOf({ kind: "share", name: "completed" })).toBe("");
});
