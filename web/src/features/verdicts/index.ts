/** The parts of this feature that others may use. */

export { Chip, Verdict, isUrgent } from "./Chip";
