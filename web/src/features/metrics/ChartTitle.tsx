/** The title of a chart: a handle to move it, and a name that a press turns into a field. */

import { useState } from "preact/hooks";
import { TITLE_CHARS } from "../../lib/charts/chart";
import { harmless } from "../../lib/text/invisible";
import { Text } from "../../ui/text/Text";
import type { ChartTools } from "./choice";
import style from "./Layout.module.css";

interface Props {
  title: string;
  /** The title as shown. */
  short: string;
  about: string;
  tools: ChartTools;
}

export function ChartTitle({ title, short, about, tools }: Props) {
  const [isWriting, write] = useState(false);
  const name = harmless(title);
  if (isWriting) return <Field title={title} rename={tools.rename} close={() => write(false)} />;
  return (
    <>
      <button
        type="button"
        class={style["handle"]}
        aria-label={`Move ${name}`}
        title="Drag to another place, or press Alt with an arrow key"
        aria-keyshortcuts="Alt+ArrowLeft Alt+ArrowRight"
        onPointerDown={tools.grab}
      >
        ⠿
      </button>
      <button
        type="button"
        class={`clip ${style["title"]}`}
        title={`${about}\nPress to rename`}
        onClick={() => write(true)}
      >
        <span class="hidden">Rename </span>
        <Text text={short} />
      </button>
    </>
  );
}

interface FieldProps {
  title: string;
  rename: (title: string) => void;
  close: () => void;
}

/** Enter and leaving the field rename, Escape does not. */
export function Field({ title, rename, close }: FieldProps) {
  const [text, setText] = useState(title);
  const done = (): void => {
    if (text !== title) rename(text);
    close();
  };
  return (
    <input
      class={`field ${style["field"]}`}
      aria-label={`Title of ${harmless(title)}`}
      placeholder="empty: the name as logged"
      maxLength={TITLE_CHARS}
      value={text}
      ref={(field) => {
        if (field !== null && document.activeElement !== field) field.select();
      }}
      onInput={(event) => setText(event.currentTarget.value)}
      onBlur={done}
      onKeyDown={(event) => {
        if (event.key === "Enter") done();
        if (event.key === "Escape") close();
      }}
    />
  );
}
