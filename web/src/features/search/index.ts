/** What other rooms may use of this feature. */

export { MarkedBar } from "./MarkedBar";
export { SEARCH_ID } from "./SearchForm";
export { SearchPage } from "./SearchPage";
