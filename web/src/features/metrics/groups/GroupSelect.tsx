/** Chooses a key of the configurations: runs that share its value become one line, their mean. */

import { getConfigTable } from "../../../api/compare";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";

/** More options take long to read. */
const MOST_KEYS = 200;

export function GroupSelect({ runs, value }: { runs: readonly string[]; value: string }) {
  const session = useSession();
  const loaded = useLoaded(JSON.stringify(runs), () =>
    getConfigTable(runs, { all: true, find: "", offset: 0, limit: MOST_KEYS }),
  );
  const rows = loaded.value?.rows ?? [];
  const options = (differs: boolean) =>
    rows.flatMap((row) =>
      row.differs === differs && row.key !== ""
        ? [
            <option key={row.key} value={row.key}>
              {harmless(row.key)}
            </option>,
          ]
        : [],
    );
  return (
    <label title="Runs with the same value are one line: their mean at each step">
      group by
      <select
        class="field"
        value={value}
        onChange={({ currentTarget }) => session.layout.changeAll({ by: currentTarget.value })}
      >
        <option value="">run</option>
        {value !== "" && !rows.some(({ key }) => key === value) && <option value={value}>{harmless(value)}</option>}
        <optgroup label="They differ in">{options(true)}</optgroup>
        <optgroup label="The same in all">{options(false)}</optgroup>
      </select>
    </label>
  );
}
