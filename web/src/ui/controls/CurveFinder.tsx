/** Chooses a curve of the catalogue: a search by words lists matching curves with their sources. */

import { useId, useState } from "preact/hooks";
import type { CatalogueEntry } from "../../api/types.gen";
import { chartOfEntry } from "../../lib/charts/catalogue";
import { textOf } from "../../lib/charts/chart";
import { foundIn, sourceOf } from "../../lib/charts/words/sources";
import { figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { Text } from "../text/Text";
import { Finder, rowId } from "./Finder";
import style from "./CurveFinder.module.css";

/** Nobody reads more; words find the others. */
const MOST_ROWS = 60;

interface Props {
  label: string;
  entries: readonly CatalogueEntry[];
  choose: (entry: CatalogueEntry) => void;
}

export function CurveFinder({ label, entries, choose }: Props) {
  const [words, type] = useState("");
  const [marked, mark] = useState(0);
  const list = useId();
  const found = foundIn(entries, words);
  const rows = found.slice(0, MOST_ROWS);
  const here = Math.min(marked, rows.length - 1);
  const take = (row: number): void => {
    const entry = rows[row];
    if (entry === undefined) return;
    type("");
    mark(0);
    choose(entry);
  };
  return (
    <div class={style["adding"]}>
      <Finder
        label={label}
        placeholder="Find a curve: entropy trainer"
        class={style["find"]}
        text={words}
        setText={type}
        list={list}
        count={rows.length}
        marked={here}
        mark={mark}
        choose={take}
      />
      <div
        id={list}
        role="listbox"
        aria-label="Curves"
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
            title={harmless(entry.name || entry.title)}
            ref={(element) => {
              if (row === here) element?.scrollIntoView({ block: "nearest" });
            }}
            onClick={() => take(row)}
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
