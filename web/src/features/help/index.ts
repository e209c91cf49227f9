/** What other rooms may use of this feature. */

export { Help } from "./Help";
export { helpOpen } from "./helpOpen";
