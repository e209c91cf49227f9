/** The parts of this feature that others may use. */

export { ComparePage } from "./ComparePage";
