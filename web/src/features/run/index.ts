/** The parts of this feature that others may use. */

export { RunPage } from "./RunPage";
