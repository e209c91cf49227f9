/** What other rooms may use of this feature. */

export { Charts } from "./Charts";
