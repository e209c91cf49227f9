/** What other rooms may use of this feature. */

export { StepNav } from "./StepNav";
