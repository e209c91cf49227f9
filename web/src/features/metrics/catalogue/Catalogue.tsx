/** All metrics of the run by section, with a search; each turns its chart on or off. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { chartOfEntry, matching, patternOf, sectionsOf } from "../../../lib/charts/catalogue";
import { keyOf } from "../../../lib/charts/layout";
import { figure } from "../../../lib/numbers/numbers";
import { useRef, useState } from "preact/hooks";
import { useSession } from "../../../state/useSession";
import { Text } from "../../../ui/text/Text";
import { explained } from "../parts/ChartHead";
import { type Layout, setOption } from "../choice";
import style from "../Metrics.module.css";

/** More entries of a section take long to draw; the search finds the others. */
const MOST_ENTRIES = 200;

interface Props {
  entries: readonly CatalogueEntry[];
  layout: Layout;
  leftOut: number;
}

export function Catalogue({ entries, layout, leftOut }: Props) {
  const session = useSession();
  const text = session.place.now.value.ask["find"] ?? "";
  const pattern = patternOf(text);
  const found = typeof pattern === "string" ? entries : matching(entries, pattern);
  const isSearched = text !== "" && typeof pattern !== "string";
  return (
    <>
      <input
        class={`field ${style["find"]}`}
        type="search"
        value={text}
        placeholder="Find: kl|entropy"
        aria-label="Find a metric by a regular expression"
        aria-invalid={typeof pattern === "string"}
        aria-describedby="metrics-found"
        spellcheck={false}
        onInput={(event) => setOption(session, { find: event.currentTarget.value })}
      />
      <p id="metrics-found" class={style["note"]} role="status">
        {typeof pattern === "string"
          ? `Not a regular expression: ${pattern}.`
          : isSearched && `${figure(found.length)} of ${figure(entries.length)} metrics`}
      </p>
      {sectionsOf(found).map(({ name, entries: all }) => (
        <Section
          key={`${session.run.now.value?.id} ${isSearched} ${name}`}
          name={name}
          entries={all}
          layout={layout}
          isSearched={isSearched}
        />
      ))}
      {leftOut > 0 && <p class={style["note"]}>{figure(leftOut)} more metrics are left out.</p>}
    </>
  );
}

interface SectionProps {
  name: string;
  entries: readonly CatalogueEntry[];
  layout: Layout;
  /** Open sections with all entries. */
  isSearched: boolean;
}

/**
 * The entries with a chart, and the number of the others; all entries once `all` is called. Entries whose chart was
 * removed since stay listed.
 */
function useListed(entries: readonly CatalogueEntry[], layout: Layout, isWhole: boolean) {
  const [hasAll, setAll] = useState(isWhole || !entries.some(layout.has));
  const before = useRef(new Set<string>());
  const listed = entries.filter((entry) => {
    const key = keyOf(chartOfEntry(entry));
    if (!hasAll && layout.has(entry)) before.current.add(key);
    return before.current.has(key);
  });
  const others = entries.filter((entry) => !listed.includes(entry));
  return {
    listed: hasAll ? [...listed, ...others] : listed,
    more: hasAll ? 0 : others.length,
    all: () => setAll(true),
  };
}

function Section({ name, entries, layout, isSearched }: SectionProps) {
  const [isOpen, setOpen] = useState(isSearched || entries.some(layout.has));
  const { listed, more, all } = useListed(entries, layout, isSearched);
  const { isFull } = layout;
  return (
    <details class={style["section"]} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="clip" title={name}>
          <Text text={name} />
        </span>
        <b>{figure(entries.length)}</b>
      </summary>
      {isOpen && (
        <ul aria-label={name}>
          {listed.slice(0, MOST_ENTRIES).map((entry) => (
            <li key={keyOf(chartOfEntry(entry))}>
              <label title={explained(entry)}>
                <input
                  type="checkbox"
                  checked={layout.has(entry)}
                  disabled={isFull && !layout.has(entry)}
                  onChange={() => layout.toggle(entry)}
                />
                <span class="clip">
                  <Text text={entry.title} />
                </span>
              </label>
            </li>
          ))}
          {more > 0 && (
            <li>
              <button
                type="button"
                class={`action ${style["rest"]}`}
                aria-label={`${figure(more)} more of ${name}`}
                onClick={all}
              >
                {figure(more)} more
              </button>
            </li>
          )}
          {listed.length > MOST_ENTRIES && (
            <li class={style["note"]}>{figure(listed.length - MOST_ENTRIES)} more: search for them</li>
          )}
        </ul>
      )}
    </details>
  );
}
