/** Narrows the list to environments, statuses and tags, which are ticked instead of typed. */

import { askComplete } from "../../../api";
import type { Suggestion } from "../../../api/types.gen";
import { quoted, unquoted } from "../../../lib/list/filter";
import { picksIn, withPicks } from "../../../lib/list/picks";
import { queryOf, type Scope } from "../../../lib/list/scope";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Failure, Loading } from "../../../ui/layout/EmptyState";
import { Popover } from "../../../ui/overlay/Popover";
import { Text } from "../../../ui/text/Text";
import style from "./PickMenu.module.css";

/** Columns of text that name a sample, or have a control of their own. */
const OTHERS: ReadonlySet<string> = new Set(["split", "group", "index", "uid", "discarded"]);
const FIRST = ["env", "status"];
const MOST_COLUMNS = 16;
/** A column with more values is for typing. */
const MOST_VALUES = 24;

export function PickMenu() {
  const session = useSession();
  const columns = session.columns.all.value.filter(({ name, kind }) => kind === "text" && !OTHERS.has(name));
  const { where } = session.place.now.value;
  const isUsed = columns.some(({ name }) => picksIn(where, name).length > 0);
  return (
    <Popover
      label="Environments, statuses and tags"
      title="Filter by environment, status or tag"
      button="Filter ▾"
      buttonClass={`action ${isUsed ? style["used"] : ""}`}
      align="right"
    >
      {() => <Panel names={columns.map(({ name }) => name)} />}
    </Popover>
  );
}

function Panel({ names }: { names: readonly string[] }) {
  const session = useSession();
  const scope = session.list.scope.value;
  const first = FIRST.filter((name) => names.includes(name));
  const columns = [...first, ...names.filter((name) => !first.includes(name))].slice(0, MOST_COLUMNS);
  const { where: _, ...of } = scope ?? { where: "" };
  const { value, error, again } = useLoaded(
    scope === null ? null : JSON.stringify([columns, of]),
    async () => (scope === null ? [] : loadValues(scope, columns)),
    scope?.run,
  );
  const useful = (value ?? []).filter(({ values }) => values.length > 1 && values.length <= MOST_VALUES);
  const { where } = session.place.now.value;
  return (
    <div class={style["panel"]}>
      {error !== null && <Failure error={error} what="The values" again={again} />}
      {value === null && error === null && <Loading />}
      {value !== null && useful.length === 0 && (
        <p class="quiet">These samples do not differ in environment, status or tags.</p>
      )}
      {useful.map(({ name, values }) => {
        const picks = picksIn(where, name);
        return (
          <fieldset key={name} class={style["column"]}>
            <legend>
              <Text text={session.columns.label(name)} />
            </legend>
            {values.map(({ text, note }) => (
              <label key={text} class={style["value"]} title={`${name} = ${text}`}>
                <input
                  type="checkbox"
                  checked={picks.includes(text)}
                  onChange={() =>
                    session.filter.filterBy(
                      withPicks(
                        where,
                        name,
                        picks.includes(text) ? picks.filter((one) => one !== text) : [...picks, text],
                      ),
                    )
                  }
                />
                <span class="clip">
                  <Text text={unquoted(text)} />
                </span>
                <small class="quiet">{note}</small>
              </label>
            ))}
          </fieldset>
        );
      })}
    </div>
  );
}

async function loadValues(scope: Scope, columns: readonly string[]): Promise<{ name: string; values: Suggestion[] }[]> {
  const { split, step, step_min, step_max } = queryOf(scope);
  return Promise.all(
    columns.map(async (name) => {
      const text = `${quoted(name)} = `;
      const { found } = await askComplete(scope.run, {
        split,
        step,
        step_min,
        step_max,
        text,
        trained: !scope.discarded,
      });
      return { name, values: found };
    }),
  );
}
