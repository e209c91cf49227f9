/** One section of the page: facts in the quiet margin, the text beside them. */

import type { ComponentChildren } from "preact";
import style from "./Section.module.css";

const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant", "tool"]);

interface Props {
  name: string;
  /** A label, if the name does not identify the section. */
  label?: string;
  role: string;
  /** Lines below the name. */
  margin?: ComponentChildren;
  /** Actions, below those lines. */
  tool?: ComponentChildren;
  children: ComponentChildren;
  fold?: { isOpen: boolean; open: (isOpen: boolean) => void };
  class?: string | undefined;
}

export function Section({ name, label = name, role, margin, tool, children, fold, class: className = "" }: Props) {
  const tint = ROLES.has(role) ? { color: `var(--role-${role})` } : undefined;
  return (
    <div class={`${style["section"]} ${className}`} role="group" aria-label={label} data-role={role}>
      <div class={style["margin"]}>
        {fold === undefined ? (
          <b style={tint} class={style["name"]} title={name}>
            {name}
          </b>
        ) : (
          <button
            type="button"
            class={`${style["name"]} ${style["fold"]}`}
            style={tint}
            aria-expanded={fold.isOpen}
            title={`${fold.isOpen ? "Fold" : "Unfold"} (${name})`}
            onClick={() => fold.open(!fold.isOpen)}
          >
            {name}
          </button>
        )}
        {margin}
        {tool}
      </div>
      <div class={style["text"]}>{children}</div>
    </div>
  );
}
