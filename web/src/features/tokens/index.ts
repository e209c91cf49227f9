/** The parts of this feature that others may use. */

export { appliesToTokens, tokenDoers } from "./actions";
export { labelOf } from "./aside/labels";
export { asideTitle } from "./aside/title";
export { TokensAside } from "./aside/TokensAside";
export { WorstTable } from "./aside/WorstTable";
export { TokensFile } from "./TokensFile";
export { TokensPane } from "./TokensPane";
