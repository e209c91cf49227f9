/** The parts of this feature that others may use. */

export { Help } from "./Help";
export { helpOpen } from "./helpOpen";
