import { describe, expect, it } from "vitest";
import { cutsOf, segmentsOf, trainedOf } from "./segments";

const TURNS = [
  { role: "user", origin: "prompt" },
  { role: "assistant", origin: "response" },
  { role: "tool", origin: "response" },
];
const run = (turn: readonly number[], firstString = turn.length, lossMask: readonly number[] | null = null) => ({
  first: 0,
  count: turn.length,
  turn: Int32Array.from(turn),
  firstString,
  lossMask: lossMask === null ? null : Float64Array.from(lossMask),
});
const named = (of: ReturnType<typeof run>): string[] =>
  segmentsOf(of, (turn) => TURNS[turn] ?? null).map(
    ({ from, stop, role, isModel }) => `${from}-${stop} ${role}${isModel ? "" : ", not the model"}`,
  );

describe("stretches of tokens", () => {
  it("are the turns, of which the model wrote some", () => {
    expect(named(run([0, 0, 1, 2, 2, 1]))).toEqual([
      "0-2 user, not the model",
      "2-3 assistant",
      "3-5 tool, not the model",
      "5-6 assistant",
    ]);
  });
  it("without a turn are the prompt's until strings begin, or training", () => {
    expect(named(run([-1, -1, -1, 1], 2))).toEqual(["0-2 prompt, not the model", "2-3 response", "3-4 assistant"]);
    expect(named(run([-1, -1, -1], 3, [0, 1, 0]))).toEqual(["0-1 prompt, not the model", "1-3 response"]);
    expect(named(run([-1, -1]))).toEqual(["0-2 response"]);
  });
  it("begin behind the padding at the start, which is not trained", () => {
    const padded = { ...run([0, 0, 1, 1], 4, [1, 0, 1, 1]), first: 1 };
    expect(named(padded)).toEqual(["1-2 user, not the model", "2-4 assistant"]);
    expect([...trainedOf(padded, [])]).toEqual([0, 0, 1, 1]);
  });
  it("of turns that the page does not know have their number", () => {
    expect(named(run([7, 7]))).toEqual(["0-2 turn 8"]);
  });
});

it("counts as trained what is under the loss mask, or without one what has a value", () => {
  const masked = run([0, 1, 1, 1], 4, [1, 0.5, 0, NaN]);
  expect([...trainedOf(masked, [])]).toEqual([1, 1, 0, 0]);
  const some = [Float64Array.of(NaN, -1, NaN, NaN), Float64Array.of(NaN, NaN, NaN, 0)];
  expect([...trainedOf(run([0, 1, 2, 1]), some)]).toEqual([0, 1, 0, 1]);
});

it("cuts stretches behind a line where one ends near", () => {
  expect(cutsOf(10, 300, () => false)).toEqual([10, 300]);
  expect(cutsOf(0, 1300, () => false)).toEqual([0, 512, 1024, 1300]);
  expect(cutsOf(0, 1300, (token) => token === 499 || token === 30)).toEqual([0, 500, 1012, 1300]);
});
