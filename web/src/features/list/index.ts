/** The parts of this feature that others may use. */

export { List } from "./List";
export { FILTER_ID } from "./filter/FilterField";
export { FilterInput } from "./filter/FilterInput";
export { ValueMenu } from "./filter/ValueMenu";
