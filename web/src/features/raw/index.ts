/** The parts of this feature that others may use. */

export { Raw } from "./RawRecord";
export { WholeText } from "./WholeText";
