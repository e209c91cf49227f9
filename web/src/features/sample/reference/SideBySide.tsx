/** Prompt, response and reference side by side if there is room, otherwise one below the other. */

import type { ComponentChildren } from "preact";
import type { Reference } from "../../../api/types.gen";
import { ReferenceSection } from "./ReferenceSection";
import style from "./SideBySide.module.css";

interface Props {
  /** Null without one. */
  prompt: ComponentChildren;
  response: ComponentChildren;
  /** Null until everything before it is drawn. */
  reference: Reference | null;
}

export function Beside({ prompt, response, reference }: Props) {
  return (
    <div class={`${style["beside"]} ${prompt === null ? "" : style["three"]}`}>
      {prompt !== null && (
        <Column name="Prompt" class={style["prompt"]}>
          {prompt}
        </Column>
      )}
      <Column name="Response" class={style["response"]}>
        {response}
      </Column>
      {reference !== null && (
        <ReferenceSection reference={reference} class={style["other"]} turnsClass={style["turns"]} />
      )}
    </div>
  );
}

function Column({
  name,
  class: className,
  children,
}: {
  name: string;
  class: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <section class={className} aria-label={name}>
      <h2 class={style["name"]}>{name}</h2>
      <div class={style["turns"]}>{children}</div>
    </section>
  );
}
