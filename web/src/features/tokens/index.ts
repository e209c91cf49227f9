/** The parts of this feature that others may use. */

export { asideTitle } from "./aside/title";
export { TokensAside } from "./aside/TokensAside";
export { TokensPane } from "./TokensPane";
