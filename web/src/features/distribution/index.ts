/** How the samples of a step, and of all steps, are distributed. */

export { HeatMap } from "./HeatMap";
export { StepView } from "./StepView";
