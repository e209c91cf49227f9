/** The parts of this feature that others may use. */

export { Charts } from "./Charts";
export { CurveChart } from "./CurveChart";
export { type Bounds, boundsOf, type Curve, curveOf } from "./curvesOf";
export { kindOf } from "./kinds";
