/** What other rooms may use of this feature. */

export { NothingDiscarded } from "./NothingDiscarded";
export { ReasonBadge } from "./ReasonBadge";
export { Reasons } from "./Reasons";
