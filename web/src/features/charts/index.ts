/** The parts of this feature that others may use. */

export { type Charted, pictureOfChart, pngBlob, svgBlob } from "./chartPicture";
export { type MapCharted, pictureOfMap } from "./mapPicture";
export { CurveChart } from "./CurveChart";
export { type Limits, NO_LIMITS, type Range } from "./axis";
export { averageOf, banded, type Bounds, boundsOf, type Curve, curveOf, NO_BOUNDS, rewardOf } from "./curvesOf";
export type { Frame } from "./drawing/frame";
export { useWhenNear } from "./drawing/useWhenNear";
export { kindOf } from "./kinds";
