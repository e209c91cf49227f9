/**
 * Text that would turn the writing of its neighbours around.
 *
 * A browser isolates inline text (`unicode-bidi: isolate`) by putting FSI before it and PDI behind it. A text gets out
 * of that by a PDI of its own, or by a sign that ends a paragraph of the bidirectional algorithm (class B of UAX #9:
 * U+0085, U+2029, ...), both of which a hostile text can hold. A box of its own it cannot leave.
 */

/** Embeddings, overrides and isolates, and the signs that end them. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/;
/** What ends a paragraph of the algorithm, and yet no line. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const ENDS = /[\r\u001c-\u001e\u0085\u2029]/;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** True where only a box of its own keeps a text from its neighbours. */
export function leaks(text: string): boolean {
  return TURNS.test(text) || (ENDS.test(text) && RIGHT_TO_LEFT.test(text));
}
