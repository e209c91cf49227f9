/** The parts of this feature that others may use. */

export { Rollouts } from "./Rollouts";
