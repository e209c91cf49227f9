/** The parts of this feature that others may use. */

export { StepNav } from "./StepNav";
