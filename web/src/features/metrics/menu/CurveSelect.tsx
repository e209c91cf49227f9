/** Adds a curve of the catalogue to a chart: a search by words lists matching curves with their sources. */

import { useId, useState } from "preact/hooks";
import type { CatalogueEntry } from "../../../api/types.gen";
import { chartOfEntry } from "../../../lib/charts/catalogue";
import { plain, textOf } from "../../../lib/charts/chart";
import type { Placed } from "../../../lib/charts/layout";
import { foundIn, sourceOf } from "../../../lib/charts/words/sources";
import { figure } from "../../../lib/numbers/numbers";
import { Finder, rowId } from "../../../ui/controls/Finder";
import { Text } from "../../../ui/text/Text";
import style from "./CurveSelect.module.css";

/** Nobody reads more; words find the others. */
const MOST_ROWS = 60;

interface Props {
  placed: Placed;
  entries: readonly CatalogueEntry[];
  join: (text: string) => void;
}

export function CurveSelect({ placed, entries, join }: Props) {
  const [isOpen, open] = useState(false);
  const [words, type] = useState("");
  const [marked, mark] = useState(0);
  const list = useId();
  if (!isOpen)
    return (
      <button type="button" class="action" onClick={() => open(true)}>
        Add a curve …
      </button>
    );
  const known = new Set([textOf(plain(placed.chart)), ...placed.chart.more]);
  const found = foundIn(
    entries.filter((one) => !known.has(textOf(chartOfEntry(one)))),
    words,
  );
  const rows = found.slice(0, MOST_ROWS);
  const here = Math.min(marked, rows.length - 1);
  const choose = (row: number): void => {
    const entry = rows[row];
    if (entry === undefined) return;
    type("");
    mark(0);
    join(textOf(chartOfEntry(entry)));
  };
  return (
    <div class={style["adding"]}>
      <Finder
        label="Add a curve to this chart"
        placeholder="Find a curve: entropy trainer"
        class={style["find"]}
        text={words}
        setText={type}
        list={list}
        count={rows.length}
        marked={here}
        mark={mark}
        choose={choose}
      />
      <div
        id={list}
        role="listbox"
        aria-label="Curves to add"
        class={style["rows"]}
        tabIndex={-1}
        onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
      >
        {rows.map((entry, row) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the focus and the keys
          <div
            key={textOf(chartOfEntry(entry))}
            id={rowId(list, row)}
            role="option"
            tabIndex={-1}
            aria-selected={row === here}
            class={style["row"]}
            ref={(element) => {
              if (row === here) element?.scrollIntoView({ block: "nearest" });
            }}
            onClick={() => choose(row)}
          >
            <span class="clip">
              <Text text={entry.title} />
            </span>
            <span class={`clip ${style["source"]}`}>
              <Text text={sourceOf(entry)} />
            </span>
          </div>
        ))}
      </div>
      <p role="status" class={style["count"]}>
        {rows.length === 0 && "No curve has these words"}
        {found.length > rows.length && `${figure(rows.length)} of ${figure(found.length)}`}
      </p>
    </div>
  );
}
