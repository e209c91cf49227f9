/** The parts of this feature that others may use. */

export { GroupPane } from "./GroupPane";
