/** What other rooms may use of this feature. */

export { PAGE_TITLES, pages } from "./pages";
