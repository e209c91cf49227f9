/** What other rooms may use of this feature. */

export { IndexProgress } from "./IndexProgress";
export { LiveDot } from "./LiveDot";
export { News } from "./News";
