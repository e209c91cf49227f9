/** A run in the picker: its colour, which draws it over the curves; its name, which opens it; and a way to change both. */

import type { RunItem } from "../../api/types.gen";
import { MAX_OVER } from "../../lib/address";
import { count } from "../../lib/numbers";
import { activityOf } from "../../state/activity";
import { colourOf, nameOf, runMark } from "../../state/marks";
import { field, href, onLink } from "../../state/place";
import { toggleOverlay } from "../../state/overlays";
import { samplesOf } from "../../state/runs";
import { Icon } from "../../ui/Icon";
import { Text } from "../../ui/Text";
import { harmless } from "../../lib/visible";
import style from "./RunPicker.module.css";

interface Props {
  item: RunItem;
  row: number;
  top: number;
  close: () => void;
  edit: (id: string) => void;
}

export function RunRow({ item, row, top, close, edit }: Props) {
  const name = nameOf(item);
  const { note, hidden } = runMark(item.id);
  const isHere = item.id === field.run.value;
  const isOver = field.over.value.includes(item.id);
  const colour = `var(--run-${colourOf(item.id)})`;
  const isFull = !isOver && field.over.value.length >= MAX_OVER;
  return (
    <li class={`${style["row"]} ${isHere ? style["here"] : ""}`} style={{ transform: `translateY(${top}px)` }} data-row={row}>
      <button
        type="button"
        class={style["over"]}
        aria-pressed={isHere || isOver}
        disabled={isHere || isFull}
        aria-label={`Draw ${name} over the curves`}
        title={isHere ? "The run that is looked at" : isFull ? `At most ${MAX_OVER} runs are drawn over another` : "Draw its curves, too"}
        onClick={() => toggleOverlay(item.id)}
      >
        <i style={{ background: isHere || isOver ? colour : "none", borderColor: colour }} />
      </button>
      <a
        href={href({ run: item.id })}
        aria-current={isHere ? "true" : undefined}
        title={harmless([item.path, note].filter((text) => text !== "").join("\n\n"))}
        onClick={(event) => {
          onLink({ run: item.id })(event);
          if (event.defaultPrevented) close();
        }}
      >
        <span class={`clip ${hidden ? "quiet" : ""}`}><Text text={name} /></span>
        {note !== "" && <Icon sign="note" size={12} />}
        <small>
          {activityOf(item) === "running" && <i class={style["live"]} title="Running" />}
          {count(samplesOf(item), "sample")} · {item.format}
        </small>
      </a>
      <button type="button" class={style["edit"]} aria-label={`Name, colour and note of ${name}`} title="Name, colour, note" onClick={() => edit(item.id)}>
        <Icon sign="more" size={16} />
      </button>
    </li>
  );
}
