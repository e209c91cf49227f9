/** The name of the pane beside the tokens, by their form. */

import type { TokensAs } from "../../../lib/address/tokensAddress";

export const asideTitle = (form: TokensAs): string => (form === "update" ? "Shares of the update" : "Worst tokens");
