/** The configurations of runs side by side: differing keys first, then all keys; a filter narrows both. */

import { useEffect, useState } from "preact/hooks";
import { getConfigTable } from "../../api/compare";
import type { ConfigRow, ConfigTable, RunItem } from "../../api/types.gen";
import { count, figure } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Loading, Missing } from "../../ui/layout/EmptyState";
import { Name } from "../../ui/text/Name";
import { Text } from "../../ui/text/Text";
import { option, rowsFor, setOptions, versionOf } from "./options";
import { RunName } from "../runs";
import { Turn } from "./Turn";
import style from "./Compare.module.css";

/** A longer value is folded until somebody asks for it. */
const SHORT_CHARS = 120;
const SHORT_LINES = 3;

export function ConfigSection({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const [offset, goTo] = useState(0);
  const all = option(session, "keys") === "all";
  const find = option(session, "key");
  const ids = compared.map(({ id }) => id);
  const limit = rowsFor(ids.length);
  const what = JSON.stringify([ids, all, find]);
  useEffect(() => goTo(0), [what]);
  const loaded = useFollowed(
    "configs",
    versionOf(compared),
    () => getConfigTable(ids, { all, find, offset, limit }),
    `${what} ${offset}`,
  );
  const reply = loaded.value;
  return (
    <section class={style["part"]} aria-labelledby="compare-configs">
      <div class={style["tools"]}>
        <h2 id="compare-configs">Configuration</h2>
        <Segments
          label="Keys"
          options={[
            { value: "", label: `Differences${reply === null ? "" : ` ${figure(reply.differing)}`}` },
            { value: "all", label: `All keys${reply === null ? "" : ` ${figure(reply.keys)}`}` },
          ]}
          value={all ? "all" : ""}
          choose={(keys) => setOptions(session, { keys })}
        />
        <input
          class={`field ${style["find"]}`}
          type="search"
          placeholder="Find a key or a value"
          aria-label="Find in the configurations"
          autocomplete="off"
          spellcheck={false}
          value={find}
          onInput={(event) => setOptions(session, { key: event.currentTarget.value })}
        />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply === null ? loaded.error === null && <Loading /> : <Table reply={reply} compared={compared} find={find} />}
      {reply !== null && (
        <Turn
          label="Pages of the configurations"
          offset={reply.offset}
          shown={reply.rows.length}
          total={reply.total}
          limit={limit}
          go={goTo}
        />
      )}
    </section>
  );
}

interface TableProps {
  reply: ConfigTable;
  compared: readonly RunItem[];
  find: string;
}

function Table({ reply, compared, find }: TableProps) {
  const shown = compared.filter(({ id }) => reply.runs.includes(id));
  return (
    <>
      <p class="quiet" role="status">
        {summary(reply, find)}
      </p>
      {reply.rows.length > 0 && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
        <div class={style["scroll"]} role="region" aria-label="Configurations side by side" tabIndex={0}>
          <table class={style["table"]}>
            <thead>
              <tr>
                <th scope="col">Key</th>
                {shown.map((item) => (
                  <th key={item.id} scope="col">
                    <RunName item={item} />
                    {reply.without.includes(item.id) && <small class="quiet"> no configuration</small>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {reply.rows.map((row) => (
                <Row key={row.key} row={row} reply={reply} shown={shown} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function summary({ keys, total, differing, runs, without, left }: ConfigTable, find: string): string {
  const rest = left === 0 ? "" : ` The configurations of ${count(left, "run")} were not read, for lack of time.`;
  if (without.length === runs.length) return `None of these runs has a configuration that Rolloupe can read.${rest}`;
  if (find.trim() !== "")
    return total === 0 ? `No key or value matches.${rest}` : `${count(total, "key")} found.${rest}`;
  if (runs.length - without.length < 2) return `Only one of these runs has a configuration.${rest}`;
  return differing === 0 ? `All ${count(keys, "key")} have the same values.${rest}` : rest.trim();
}

const isLong = (value: string | null | undefined): boolean =>
  value !== null && value !== undefined && (value.length > SHORT_CHARS || value.split("\n").length > SHORT_LINES);

interface RowProps {
  row: ConfigRow;
  reply: ConfigTable;
  shown: readonly RunItem[];
}

function Row({ row, reply, shown }: RowProps) {
  const [isOpen, open] = useState(false);
  const { place } = useSession();
  const metrics = { page: "metrics", ask: { by: row.key } } as const;
  const folds = row.values.some(isLong);
  const first = row.values[0];
  return (
    <tr class={row.differs ? undefined : style["same"]}>
      <th scope="row">
        <code>
          <Name text={row.key === "" ? "(the whole)" : row.key} />
        </code>{" "}
        {row.differs && shown.length > 1 && (
          <a class="action" href={place.href(metrics)} onClick={place.onLink(metrics)}>
            Group curves
          </a>
        )}
        {folds && (
          <button type="button" class="action" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
            {isOpen ? "Fold" : "Show whole values"}
          </button>
        )}
      </th>
      {shown.map(({ id }) => {
        const at = reply.runs.indexOf(id);
        const value = row.values[at];
        return (
          <td key={id} class={at > 0 && value !== first && value !== undefined ? style["differs"] : undefined}>
            {value === null || value === undefined ? (
              <span class="quiet" title="This run does not have the key">
                –
              </span>
            ) : (
              <code class={folds && !isOpen && isLong(value) ? style["clipped"] : style["value"]}>
                {value === "" ? <span class="quiet">(empty)</span> : <Text text={value} />}
              </code>
            )}
            {isOpen && row.cut.includes(at) && <WholeValue run={id} />}
          </td>
        );
      })}
    </tr>
  );
}

/** The configuration of its run has a value that is too long for a table. */
function WholeValue({ run }: { run: string }) {
  const session = useSession();
  const to = { page: "run", run } as const;
  return (
    <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
      … the rest is in the run's own configuration
    </a>
  );
}
