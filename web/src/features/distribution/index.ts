/** How the samples of a step, and of all steps, are distributed. */

export { HeatMap } from "./HeatMap";
export { StepHistogram } from "./StepHistogram";
export { StepView } from "./StepView";
