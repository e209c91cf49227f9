/** Turns a message of a program into a sentence. */

/** Begin with a capital letter and end with a full stop. */
export function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return start === "" || /[.!?…]$/.test(start) ? start : `${start}.`;
}
