/** The names of a group's samples on the page: by their place in it. */

import { scopeOf } from "../../lib/address/address";
import { groupOf } from "../../lib/address/groupAddress";
import { figure } from "../../lib/numbers/numbers";

/** A sample of another group, which answers the same prompt, is named by its step. */
export function nameOf(items: readonly { id: string }[], id: string): string {
  const at = items.findIndex((item) => item.id === id);
  if (at >= 0) return `Sample ${figure(at + 1)}`;
  const [first] = items;
  const isAway = first !== undefined && groupOf(first.id) !== groupOf(id);
  return isAway ? `Step ${figure(scopeOf(id)?.step)}` : id.slice(id.lastIndexOf("/") + 1);
}

const ROLES: ReadonlyMap<string, string> = new Map([
  ["system", "System"],
  ["user", "User"],
  ["assistant", "Assistant"],
  ["tool", "Tool"],
]);

export const roleOf = (role: string): string => ROLES.get(role) ?? (role || "Text");
