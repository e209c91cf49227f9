/** What other rooms may use of this feature. */

export { Rollouts } from "./Rollouts";
