/** A run in the picker: its colour, which overlays its curves; its name, which opens it; and a button to edit both. */

import { useSession } from "../../../state/useSession";
import type { RunItem } from "../../../api/types.gen";
import { MAX_OVER } from "../../../lib/address/address";
import { count } from "../../../lib/numbers/numbers";
import { activityOf } from "../../../state/run/activity";
import { colourOf, nameOf, runMark } from "../../../state/marks";
import { samplesOf } from "../../../state/runs";
import { Icon } from "../../../ui/controls/Icon";
import { Text } from "../../../ui/text/Text";
import { harmless } from "../../../lib/text/invisible";
import style from "./RunPicker.module.css";

interface Props {
  item: RunItem;
  row: number;
  top: number;
  close: () => void;
  edit: (id: string) => void;
}

export function RunRow({ item, row, top, close, edit }: Props) {
  const session = useSession();
  const name = nameOf(item);
  const { note, hidden } = runMark(item.id);
  const isHere = item.id === session.place.field.run.value;
  const isOver = session.place.field.over.value.includes(item.id);
  const colour = `var(--run-${colourOf(item.id)})`;
  const isFull = !isOver && session.place.field.over.value.length >= MAX_OVER;
  return (
    <li
      class={`${style["row"]} ${isHere ? style["here"] : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      data-row={row}
    >
      <button
        type="button"
        class={style["over"]}
        aria-pressed={isHere || isOver}
        disabled={isHere || isFull}
        aria-label={`Overlay the curves of ${name}`}
        title={isHere ? "The current run" : isFull ? `At most ${MAX_OVER} runs can be overlaid` : "Overlay its curves"}
        onClick={() => session.overlays.toggle(item.id)}
      >
        <i style={{ background: isHere || isOver ? colour : "none", borderColor: colour }} />
      </button>
      <a
        href={session.place.href({ run: item.id })}
        aria-current={isHere ? "true" : undefined}
        title={harmless([item.path, note].filter((text) => text !== "").join("\n\n"))}
        onClick={(event) => {
          session.place.onLink({ run: item.id })(event);
          if (event.defaultPrevented) close();
        }}
      >
        <span class={`clip ${hidden ? "quiet" : ""}`}>
          <Text text={name} />
        </span>
        {note !== "" && <Icon sign="note" size={12} />}
        <small>
          {activityOf(item) === "running" && <i class={style["live"]} title="Running" />}
          {count(samplesOf(item), "sample")} · {item.format}
        </small>
      </a>
      <button
        type="button"
        class={style["edit"]}
        aria-label={`Name, colour and note of ${name}`}
        title="Name, colour, note"
        onClick={() => edit(item.id)}
      >
        <Icon sign="more" size={16} />
      </button>
    </li>
  );
}
