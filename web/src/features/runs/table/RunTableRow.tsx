/** A run in the table: its name, which opens it, its columns, and details below on demand. */

import { useSession } from "../../../state/useSession";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RunItem } from "../../../api/types.gen";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { colourOf, nameOf, runMark } from "../../../state/marks";
import { isPlainPress } from "../../../state/place/place";
import { placeOf } from "../../../state/runs";
import { Icon } from "../../../ui/controls/Icon";
import { Text } from "../../../ui/text/Text";
import { Cell } from "./Cell";
import type { Column, Differing } from "./columns";
import { RunDetails } from "./RunDetails";
import { RunEditor } from "../picker/RunEditor";
import { tick, ticked } from "./ticked";
import style from "./RunTable.module.css";

/** The open details below the row of a run. */
export interface Shown {
  id: string;
  what: "details" | "editor";
}

interface Props {
  item: RunItem;
  columns: readonly Column[];
  template: string;
  keys: readonly string[];
  differing: Differing;
  isNarrow: boolean;
  rowPx: number;
  row: number;
  /** The heading of the group that begins here; empty elsewhere. */
  heading: string;
  headingPx: number;
  /** The height of the sentence about a bundled run. */
  aboutPx: number;
  top: number;
  shown: Shown["what"] | null;
  show: (what: Shown["what"] | null) => void;
  /** True if Tab stops at this row; the next stop is after the table. */
  isStop: boolean;
  /** True if it has the focus. */
  onFocus: () => void;
  /** The height of its open details. */
  measured: (px: number) => void;
}

export function RunTableRow({
  item,
  columns,
  template,
  keys,
  differing,
  isNarrow,
  rowPx,
  row,
  heading,
  headingPx,
  aboutPx,
  top,
  shown,
  show,
  isStop,
  onFocus,
  measured,
}: Props) {
  const session = useSession();
  const whole = useRef<HTMLDivElement>(null);
  const name = nameOf(item);
  const { note, hidden } = runMark(item.id);
  const to = placeOf(item);
  const tabIndex = isStop ? 0 : -1;
  // A value is above the link of the row, so that it can have its own title; a press on it follows the link.
  const press = (event: MouseEvent): void => {
    if (isPlainPress(event)) session.place.go(to);
    else if (event.button < 2) open(session.place.href(to), "_blank", "noopener");
  };
  const close = (): void => {
    show(null);
    whole.current?.querySelector<HTMLElement>("[data-edit]")?.focus();
  };
  return (
    <div
      role="row"
      class={style["row"]}
      aria-rowindex={row + 2}
      data-row={row}
      style={{ transform: `translateY(${top}px)` }}
      ref={whole}
      onFocusIn={onFocus}
    >
      {heading !== "" && (
        <div role="rowheader" class={style["group"]} style={{ height: `${headingPx}px` }}>
          {heading}
        </div>
      )}
      <div
        class={style["line"]}
        style={isNarrow ? { height: `${rowPx}px` } : { height: `${rowPx}px`, gridTemplateColumns: template }}
      >
        <div role="cell" class={style["name"]}>
          <input
            type="checkbox"
            aria-label={`Compare ${name}`}
            title="Tick two runs or more to compare them"
            tabIndex={tabIndex}
            checked={ticked.value.includes(item)}
            onChange={(event) => tick(item.id, event.currentTarget.checked)}
          />
          <button
            type="button"
            class={style["fold"]}
            aria-expanded={shown === "details"}
            aria-label={`Details of ${name}`}
            title="Details"
            tabIndex={tabIndex}
            onClick={() => show(shown === "details" ? null : "details")}
          >
            <Icon sign="down" size={14} />
          </button>
          <i class={style["dot"]} style={{ background: `var(--run-${colourOf(item.id)})` }} />
          <span class={style["words"]}>
            <a
              class={`${style["link"]} ${note === "" ? "" : style["noted"]} ${hidden ? "quiet" : ""}`}
              href={session.place.href(to)}
              onClick={session.place.onLink(to)}
              tabIndex={tabIndex}
              title={harmless(name)}
            >
              <Text text={name} />
            </a>
            {note !== "" && (
              <small class="clip" title={harmless(note)}>
                <Text text={note} />
              </small>
            )}
          </span>
          {item.problems > 0 && (
            <span
              class={style["problems"]}
              role="img"
              aria-label={count(item.problems, "problem")}
              title={`${count(item.problems, "problem")} in its files`}
            >
              <Icon sign="problems" size={14} />
            </span>
          )}
          <button
            type="button"
            class={style["edit"]}
            data-edit
            aria-label={`Name, colour and note of ${name}`}
            title="Name, colour, note"
            tabIndex={tabIndex}
            onClick={() => show(shown === "editor" ? null : "editor")}
          >
            <Icon sign="more" size={16} />
          </button>
        </div>
        {columns.map((column) => (
          // The link of the row has the keys.
          // oxlint-disable-next-line click-events-have-key-events, no-noninteractive-element-interactions
          <div
            key={column.key}
            role="cell"
            class={`${style["cell"]} ${column.isNumber ? style["number"] : ""}`}
            data-column={column.key}
            onClick={press}
            onAuxClick={press}
          >
            <Cell {...{ item, column, differing, isNarrow }} />
          </div>
        ))}
      </div>
      {item.about !== "" && (
        <div role="cell" class={style["about"]} style={{ height: `${aboutPx}px` }} title={item.about}>
          {item.about}
        </div>
      )}
      {shown !== null && (
        <More measured={measured}>
          {shown === "editor" ? (
            <RunEditor item={item} done={close} />
          ) : (
            <RunDetails item={item} keys={keys} values={differing.get(item.id)} />
          )}
        </More>
      )}
    </div>
  );
}

/** Content below a row; reports its height. */
function More({ measured, children }: Pick<Props, "measured"> & { children: preact.ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const measure = (): void => measured(box.offsetHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => {
      observer.disconnect();
      measured(0);
    };
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  return (
    <div role="cell" class={style["more"]} data-more ref={element}>
      {children}
    </div>
  );
}
