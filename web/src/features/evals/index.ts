/** What other rooms may use of this feature. */

export { EvalsPage } from "./EvalsPage";
