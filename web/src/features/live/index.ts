/** The parts of this feature that others may use. */

export { IndexProgress } from "./IndexProgress";
export { LiveDot } from "./LiveDot";
export { News } from "./News";
