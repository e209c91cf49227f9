/** The parts of this feature that others may use. */

export { NothingDiscarded } from "./NothingDiscarded";
export { ReasonBadge } from "./ReasonBadge";
export { Reasons } from "./Reasons";
