import { expect, it } from "vitest";
import { tokenPage } from "../../../testing/tokens";
import { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { Mask } from "../../../state/tokens/masks";
import { linesOf, updateWords } from "./lines";

const MANY = Object.fromEntries(["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => [name, [1, 1]]));

function sampleOf(series: Record<string, number[]>, difference = NaN): TokenSample {
  const page = tokenPage({ text: ["a", "b"], series });
  const name = "importance_ratio_difference";
  const values = Float64Array.of(difference, difference);
  const added = { name, title: name, about: "", origin: "difference", scale: "symmetric", values } as const;
  const whole = { ...page, series: new Map(page.series).set(name, added) };
  return new TokenSample([whole], () => ({ role: "assistant", origin: "response" }));
}

const titles = (tokens: TokenSample): string[] => linesOf(tokens, 1, tokens.named("a")).lines.map(({ title }) => title);

it("has the chosen series among those that say most, and a difference only if it is more than rounding", () => {
  const series = { entropy: [1, 1], importance_ratio: [1, 2], advantages: [1, 1], ...MANY };
  const few = ["importance_ratio", "a", "entropy", "advantages"];
  expect(titles(sampleOf(series, 1.5e-6))).toEqual(few);
  expect(titles(sampleOf(series, 3e-6))).toEqual([...few, "importance_ratio_difference"]);
});

it("has all values where they are few", () => {
  const { lines, rest } = linesOf(sampleOf({ odd: [1, 2], entropy: [1, 2] }), 0, null);
  expect([lines.length, rest]).toEqual([3, []]);
});

it("says in words what the step would do", () => {
  const mask = new Mask("dapo", "DAPO", null, [], [], () => Uint8Array.of(0, 1));
  const words = (advantages: number[], token = 1) => updateWords(sampleOf({ advantages }), token, [mask]);
  expect(words([2, 2], 0)).toBe("would push up, DAPO keeps it");
  expect(words([-2, -2])).toBe("would push down, is masked by DAPO");
  expect(words([0, 0])).toBe("nothing: advantage 0");
  expect(updateWords(sampleOf({ entropy: [1, 1] }), 1, [mask])).toBe("is masked by DAPO");
  const prompt = sampleOf({ advantages: [1, 1], loss_mask: [0, 1] });
  expect(updateWords(prompt, 0, [mask])).toBe("not trained");
});
