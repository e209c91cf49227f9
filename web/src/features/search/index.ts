/** The parts of this feature that others may use. */

export { MarkedBar } from "./MarkedBar";
export { SEARCH_ID } from "./SearchForm";
export { SearchPage } from "./SearchPage";
