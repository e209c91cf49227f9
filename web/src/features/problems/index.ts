/** The parts of this feature that others may use. */

export { ProblemsPage } from "./ProblemsPage";
