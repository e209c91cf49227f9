/** The parts of this feature that others may use. */

export { PAGE_TITLES, pages } from "./pages";
