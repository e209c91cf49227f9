/** The parts of this feature that others may use. */

export { BriefBand, KINDS } from "./BriefBand";
