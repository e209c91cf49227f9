/** What other rooms may use of this feature. */

export { GroupPane } from "./GroupPane";
