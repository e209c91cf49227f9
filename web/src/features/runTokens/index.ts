/** The parts of this feature that others may use. */

export { RunTokensPage } from "./RunTokensPage";
