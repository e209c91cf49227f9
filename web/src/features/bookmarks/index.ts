/** What other rooms may use of this feature. */

export { BookmarksPage } from "./BookmarksPage";
