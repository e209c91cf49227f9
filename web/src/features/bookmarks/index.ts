/** The parts of this feature that others may use. */

export { BookmarksPage } from "./BookmarksPage";
