/** What other rooms may use of this feature. */

export { RunPage } from "./RunPage";
