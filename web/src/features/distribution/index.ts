/** Distributions of the samples of one step and of all steps. */

export { HeatMap } from "./HeatMap";
export { StepHistogram } from "./StepHistogram";
export { StepView } from "./StepView";
