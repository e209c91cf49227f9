/**
 * Text that would change the writing direction of its neighbours.
 *
 * A browser isolates inline text (`unicode-bidi: isolate`) by putting FSI before it and PDI after it. Hostile text
 * escapes this with its own PDI, or with a character that ends a paragraph of the bidirectional algorithm (class B of
 * UAX #9: U+0085, U+2029, ...). It cannot escape from a separate box.
 */

/** Embeddings, overrides and isolates, and the characters that end them. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/;
/** Characters that end a paragraph of the algorithm, but not a line. */
// oxlint-disable-next-line no-control-regex -- the expression looks for them
const ENDS = /[\r\u001c-\u001e\u0085\u2029]/;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** True if only a separate box keeps a text from affecting its neighbours. */
export function leaks(text: string): boolean {
  return TURNS.test(text) || (ENDS.test(text) && RIGHT_TO_LEFT.test(text));
}
