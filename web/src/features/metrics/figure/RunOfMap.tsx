/** Names the run of a distribution, and chooses another run of the charts. */

import { harmless } from "../../../lib/text/invisible";
import { colourOf, nameOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { setOption } from "../choice";
import { mappedRun } from "./mapped";
import style from "../Metrics.module.css";

export function RunOfMap({ title }: { title: string }) {
  const session = useSession();
  const own = session.run.now.value;
  const run = mappedRun(session);
  if (own === null || run === null) return null;
  return (
    <p class={`${style["others"]} ${style["inLine"]}`}>
      <label class={style["ofRun"]}>
        only
        <i style={{ background: `var(--run-${colourOf(run.id)})` }} />
        <select
          aria-label={`Run of ${title}`}
          title="A distribution is of one run: choose another"
          value={run.id}
          onChange={({ currentTarget: { value } }) => setOption(session, { map: value === own.id ? "" : value })}
        >
          {[own, ...session.overlays.runs.value].map((one) => (
            <option key={one.id} value={one.id}>
              {harmless(nameOf(one))}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}
