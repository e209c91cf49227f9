/** Names and token strings in a narrow column. */

import { inColumn } from "../../../lib/tokens/sample/readable";

/** The most characters of a name. */
const LABEL_CHARS = 40;

export const cut = (label: string, most = LABEL_CHARS): string =>
  label.length > most ? `${label.slice(0, most)}…` : label;

/** A token string as text, on one line, and cut if it is very long. */
export const labelOf = (text: string): string => cut(inColumn(text));
