/** A part of the page of a run, which folds. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Text } from "../../ui/text/Text";
import style from "./RunPage.module.css";

export function Part({
  title,
  note,
  isOpen: opens = true,
  children,
}: {
  title: string;
  note: string;
  isOpen?: boolean;
  children: ComponentChildren;
}) {
  const [isOpen, open] = useState(opens);
  return (
    <details class={style["part"]} open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        <b>{title}</b>{" "}
        <span class="quiet">
          <Text text={note} />
        </span>
      </summary>
      {isOpen && children}
    </details>
  );
}
