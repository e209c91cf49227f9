import { describe, expect, it } from "vitest";
import { limitsOf, numberOf, pageAsked, setOption, xOf, zoomOf, zoomText } from "./choice";
import { START } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { runItem } from "../../testing/records";
import { refusal } from "./menu/RangeFields";

it("keeps the band and the shift to zero for the next visit, and begins with that of the run's own viewer", () => {
  const session = createSession();
  runs.value = [runItem({ id: "board", format: "rl_logging_board" })];
  session.place.now.value = { ...START, page: "metrics", run: "board" };
  expect(pageAsked(session)).toMatchObject({ band: "0.2", zero: "" });
  setOption(session, { band: "2", zero: "1" });
  session.place.now.value = { ...START, page: "metrics", run: "board" };
  expect(pageAsked(session)).toMatchObject({ band: "2", zero: "1" });
});

describe("the range across", () => {
  it("belongs to the metric that was across when a person drew it", () => {
    const zoom = zoomText([0.1 + 0.2, 12], "?kind=elapsed");
    expect(zoom).toBe("0.3:12:?kind=elapsed");
    expect(zoomOf({ zoom, x: "?kind=elapsed" })).toEqual([0.3, 12]);
    expect(zoomOf({ zoom, x: "step" })).toBeNull();
    expect(zoomOf({ zoom: zoomText([3, 9], ""), x: "step" })).toEqual([3, 9]);
  });
  it.each(["", "1:2", "2:1:", "a:1:", "1:1:", ":1:", "1:Infinity:"])("is none in %j", (zoom) => {
    expect(zoomOf({ zoom })).toBeNull();
  });
  it("is of steps unless something else is chosen", () => {
    expect([xOf({}), xOf({ x: "step" }), xOf({ x: "trainer.lr" })]).toEqual(["", "", "trainer.lr"]);
  });
});

describe("the ends of the axis", () => {
  it("are numbers or none", () => {
    expect(limitsOf({ low: "-1.5", high: "" })).toEqual([-1.5, null]);
    expect(["1e3", " −2 ", "NaN", "Infinity", "one", " "].map(numberOf)).toEqual([1000, -2, null, null, null, null]);
  });
  it("are refused where nobody can draw between them", () => {
    expect([refusal("", ""), refusal("0", ""), refusal("", "-3"), refusal("0", "1")]).toEqual(["", "", "", ""]);
    expect([refusal("1", "1"), refusal("2", "1")].every((why) => why.includes("less than"))).toBe(true);
    expect(refusal("NaN", "1")).toBe("NaN is not a number");
  });
});
