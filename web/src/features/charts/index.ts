/** The parts of this feature that others may use. */

export { Charts } from "./Charts";
export { CurveChart } from "./CurveChart";
export type { Curve } from "./curvesOf";
