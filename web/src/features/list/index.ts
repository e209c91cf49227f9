/** What other rooms may use of this feature. */

export { List } from "./List";
export { FILTER_ID } from "./filter/FilterField";
export { ValueMenu } from "./filter/ValueMenu";
