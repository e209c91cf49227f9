/** The parts of this feature that others may use. */

export { TokensAside } from "./aside/TokensAside";
export { TokensPane } from "./TokensPane";
