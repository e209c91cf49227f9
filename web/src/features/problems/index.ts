/** What other rooms may use of this feature. */

export { ProblemsPage } from "./ProblemsPage";
