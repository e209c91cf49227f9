/** The names of a group's samples on the page: by their place in it. */

import { figure } from "../../lib/numbers/numbers";

export function nameOf(items: readonly { id: string }[], id: string): string {
  const at = items.findIndex((item) => item.id === id);
  return at < 0 ? id.slice(id.lastIndexOf("/") + 1) : `Sample ${figure(at + 1)}`;
}

const ROLES: ReadonlyMap<string, string> = new Map([
  ["system", "System"],
  ["user", "User"],
  ["assistant", "Assistant"],
  ["tool", "Tool"],
]);

export const roleOf = (role: string): string => ROLES.get(role) ?? (role || "Text");
