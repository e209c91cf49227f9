/** The title of a section: a press makes it a field, and buttons move the section among the others. */

import { useState } from "preact/hooks";
import { harmless } from "../../../lib/text/invisible";
import { announce } from "../../../ui/overlay/announce";
import { Text } from "../../../ui/text/Text";
import { Field } from "../ChartTitle";
import layoutStyle from "../Layout.module.css";
import style from "./Parts.module.css";

interface Props {
  name: string;
  isFirst: boolean;
  isLast: boolean;
  rename: (name: string) => void;
  move: (by: 1 | -1) => void;
}

export function SectionTitle({ name, isFirst, isLast, rename, move }: Props) {
  const [isWriting, write] = useState(false);
  const moved = (by: 1 | -1, button: HTMLElement): void => {
    move(by);
    announce(`${harmless(name)} moved ${by < 0 ? "up" : "down"}`);
    setTimeout(() => button.focus()); // the move changes the place of the section in the document
  };
  return (
    <h2 class={style["section"]}>
      {isWriting ? (
        <Field title={name} rename={rename} close={() => write(false)} />
      ) : (
        <button
          type="button"
          class={`clip ${layoutStyle["title"]}`}
          title="Press to rename the section"
          onClick={() => write(true)}
        >
          <span class="hidden">Rename section </span>
          <Text text={name} />
        </button>
      )}
      {([-1, 1] as const).map((by) => (
        <button
          key={by}
          type="button"
          class={`action ${style["mover"]}`}
          disabled={by < 0 ? isFirst : isLast}
          aria-label={`Move section ${harmless(name)} ${by < 0 ? "up" : "down"}`}
          title={by < 0 ? "Move the section up" : "Move the section down"}
          onClick={(event) => moved(by, event.currentTarget)}
        >
          {by < 0 ? "↑" : "↓"}
        </button>
      ))}
    </h2>
  );
}
