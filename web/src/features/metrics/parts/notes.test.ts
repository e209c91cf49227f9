import { expect, it } from "vitest";
import { chart } from "../../../lib/charts/chart";
import { notesOfMap } from "./notes";

const of = chart("sample", "reward", { look: { figure: "map" } });
const given = { chart: of, asked: {}, leftOut: 0 };

it("a distribution over time says what it shows otherwise than the curves around it", () => {
  expect(notesOfMap(given)).toEqual([]);
  const asked = { x: "?kind=elapsed", zero: "1" };
  expect(notesOfMap({ ...given, asked, leftOut: 3 })).toEqual([
    "by step: a distribution has no other x",
    "values as they are, not shifted",
    "3 outliers left out",
  ]);
});
