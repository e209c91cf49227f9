/** How the samples of a step, and of all steps, are distributed. */

export { StepView } from "./StepView";
