/** How a response begins, as a list shows it. */

const OPENING = /^\s*<(think|thinking|reasoning)>\s*/;

/** The start of a response without the tag of a thought, and whether it begins with one. */
export function preview(text: string): { text: string; isThought: boolean } {
  const found = OPENING.exec(text);
  return found === null ? { text, isThought: false } : { text: text.slice(found[0].length), isThought: true };
}
