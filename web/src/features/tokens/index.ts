/** The parts of this feature that others may use. */

export { TokensPane } from "./TokensPane";
