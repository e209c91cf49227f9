/** Words of a program as a sentence for a person. */

/** Begin with a capital letter and end with a full stop. */
export function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return start === "" || /[.!?…]$/.test(start) ? start : `${start}.`;
}
