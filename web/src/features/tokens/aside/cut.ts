/** Names in a narrow column. */

/** A name there has at most so many characters. */
const LABEL_CHARS = 40;

export const cut = (label: string, most = LABEL_CHARS): string =>
  label.length > most ? `${label.slice(0, most)}…` : label;
