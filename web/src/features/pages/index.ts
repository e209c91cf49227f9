/** The parts of this feature that others may use. */

export { evalsName, PAGE_TITLES, type PageEntry, pages } from "./pages";
