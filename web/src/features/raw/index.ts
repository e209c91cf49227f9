/** What other rooms may use of this feature. */

export { Raw } from "./RawRecord";
export { WholeText } from "./WholeText";
