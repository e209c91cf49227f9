/** What the page calls a sample: group and place in it, such as `7/3`, without split and step. */

import { decoded } from "../address/decoded";

/** A group whose name is a hash or a text has so much of it. */
const GROUP_CHARS = 12;

export function nameOfSample(id: string): string {
  const [group = "", index = ""] = id.split("/").slice(-2).map(decoded);
  return `${group.length > GROUP_CHARS ? `${group.slice(0, GROUP_CHARS)}…` : group}/${index}`;
}
