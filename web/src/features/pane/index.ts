/** The parts of this feature that others may use. */

export { Charts } from "./Charts";
