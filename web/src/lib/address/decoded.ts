/** Parts of addresses and of ids. */

/** A percent-encoded part as it was; the part itself if it is not encoded. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
