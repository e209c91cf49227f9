/**
 * All samples of a group as a table: their figures, statuses and beginnings, and the choice of samples for side by
 * side.
 */

import { useSession } from "../../../state/useSession";
import type { Session } from "../../../state/session";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SampleItem, WireNumber } from "../../../api/types.gen";
import { isReason } from "../../../lib/sample/discardReasons";
import { MAX_ONLY } from "../../../lib/address/groupAddress";
import { exact, figure, score, signed, toNumber } from "../../../lib/numbers/numbers";
import { cellColour } from "../../../lib/colour/scales";
import { nameOf } from "../sampleNames";
import { Text } from "../../../ui/text/Text";
import { useEdges } from "../../../ui/hooks/useEdges";
import { harmless } from "../../../lib/text/invisible";
import style from "./GroupTable.module.css";

/** The number of further rows to draw at a time. */
const ROWS = 200;

interface Shown {
  name: string;
  words: string;
  of: (item: SampleItem) => WireNumber;
}

export function GroupTable() {
  const session = useSession();
  const [sort, setSort] = useState<{ name: string; descending: boolean } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  useEdges(scroller);
  const [rows, setRows] = useState(ROWS);
  const items = session.group.membersHere.value;
  const only = session.place.field.only.value;
  const sample = session.place.field.sample.value;
  const shown = columnsOf(session, items);
  const by = shown.find(({ name }) => name === sort?.name);
  const sorted =
    by === undefined ? items : items.toSorted((a, b) => compared(by.of(a), by.of(b), sort?.descending ?? false));
  const total = session.group.members.value?.total ?? 0;
  const pick = (id: string): void =>
    session.place.go({ only: only.includes(id) ? only.filter((one) => one !== id) : [...only, id] }, "replace");
  // The current sample scrolls into view once, when the table opens, and when another is chosen.
  useLayoutEffect(
    () => box.current?.querySelector('[aria-current="true"] > td')?.scrollIntoView({ block: "nearest" }),
    [sample, items.length],
  );
  return (
    <div class={style["box"]} ref={box}>
      <p class={style["bar"]}>
        {only.length === 0 ? (
          <span>Choose samples to compare side by side.</span>
        ) : (
          <>
            <button
              type="button"
              class="button first"
              onClick={() =>
                session.place.go({
                  isTable: false,
                  ...(only.includes(sample ?? "") ? {} : { sample: only[0] ?? null }),
                })
              }
            >
              {`Show ${figure(only.length)} side by side`}
            </button>
            <button type="button" class="action" onClick={() => session.place.go({ only: [] }, "replace")}>
              Clear
            </button>
          </>
        )}
        {total > items.length && (
          <span>
            The first {figure(items.length)} of {figure(total)}: the list of samples shows all.
          </span>
        )}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <div class={style["scroll"]} ref={scroller} role="region" tabIndex={0} aria-label="Samples of this group">
        <table class={style["table"]}>
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">Chosen</span>
              </th>
              <th scope="col">Sample</th>
              {shown.map(({ name, words }) => (
                <th
                  key={name}
                  scope="col"
                  aria-sort={sort?.name === name ? (sort.descending ? "descending" : "ascending") : undefined}
                >
                  <button
                    type="button"
                    onClick={() => setSort({ name, descending: sort?.name === name ? !sort.descending : true })}
                  >
                    <span class="clip">{words}</span>
                    {sort?.name === name && <span aria-hidden="true">{sort.descending ? "↓" : "↑"}</span>}
                  </button>
                </th>
              ))}
              <th scope="col">Status</th>
              <th scope="col" class={style["text"]}>
                Response
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, rows).map((item) => (
              <Row
                key={item.id}
                item={item}
                items={items}
                shown={shown}
                isPicked={only.includes(item.id)}
                isHere={item.id === sample}
                pick={only.length >= MAX_ONLY && !only.includes(item.id) ? null : pick}
              />
            ))}
          </tbody>
        </table>
        {rows < sorted.length && (
          <button
            type="button"
            class="action strong"
            onClick={() => setRows(rows + ROWS)}
          >{`${figure(sorted.length - rows)} more: show`}</button>
        )}
      </div>
    </div>
  );
}

interface RowProps {
  item: SampleItem;
  items: readonly SampleItem[];
  shown: readonly Shown[];
  isPicked: boolean;
  isHere: boolean;
  /** Null if no more can be chosen. */
  pick: ((id: string) => void) | null;
}

function Row({ item, items, shown, isPicked, isHere, pick }: RowProps) {
  const session = useSession();
  const name = nameOf(items, item.id);
  const to = { sample: item.id, isTable: false, isDiff: false };
  return (
    <tr aria-current={isHere ? "true" : undefined}>
      <td>
        <input
          type="checkbox"
          aria-label={`${name}: side by side`}
          checked={isPicked}
          disabled={pick === null}
          onChange={() => pick?.(item.id)}
        />
      </td>
      <th scope="row">
        <a href={session.place.href(to)} onClick={session.place.onLink(to)} title={item.id}>
          {name}
        </a>
      </th>
      {shown.map((column) => (
        <Cell key={column.name} name={column.name} value={column.of(item)} />
      ))}
      <td>
        {item.status !== "unknown" && !isReason(item.status, item.discarded) && (
          <span class={item.status === "completed" ? undefined : style["warn"]}>{item.status}</span>
        )}
        {item.discarded !== "" && (
          <span class={style["warn"]} title="not trained on">
            {" "}
            {item.discarded}
          </span>
        )}
      </td>
      <td class={style["text"]}>
        <span title={harmless(item.response)}>
          <Text text={item.response} />
        </span>
      </td>
    </tr>
  );
}

function Cell({ name, value }: { name: string; value: WireNumber }) {
  const session = useSession();
  const background = cellColour(session.columns.scale(name), toNumber(value));
  const words = name === "reward" ? score(value, "–") : name === "advantage" ? signed(value, "–") : figure(value, "–");
  return (
    <td class={style["number"]} title={exact(value)}>
      {background !== null && <i style={{ background }} />}
      {words}
    </td>
  );
}

/** The columns in which at least one sample has a value. */
function columnsOf(session: Session, items: readonly SampleItem[]): Shown[] {
  const chosen = session.group.members.value?.columns ?? [];
  const all: Shown[] = [
    ...(["reward", "advantage", "response_tokens", "response_chars", "turns"] as const).map((name): Shown => ({
      name,
      words: session.columns.label(name),
      of: (item) => item[name],
    })),
    ...chosen.map((name, i): Shown => ({
      name,
      words: session.columns.label(name),
      of: (item) => item.values[i] ?? null,
    })),
  ];
  return all.filter(({ name, of }) => name === "reward" || items.some((item) => of(item) !== null));
}

/** Missing values come last in either direction. */
function compared(a: WireNumber, b: WireNumber, descending: boolean): number {
  const [x, y] = [toNumber(a), toNumber(b)];
  if (x === null || y === null || Number.isNaN(x) || Number.isNaN(y))
    return Number(x === null || Number.isNaN(x)) - Number(y === null || Number.isNaN(y));
  return descending ? y - x : x - y;
}
