/** The parts of this feature that others may use. */

export { EvalsPage } from "./EvalsPage";
