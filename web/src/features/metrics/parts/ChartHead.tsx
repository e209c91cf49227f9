/** The head of a chart: title, meaning, the value at the pointed step, menu and filter. */

import type { CatalogueEntry } from "../../../api/types.gen";
import type { Placed } from "../../../lib/charts/layout";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import type { Charted, MapCharted } from "../../charts";
import { ChartTitle } from "../ChartTitle";
import type { Asked, ChartTools } from "../choice";
import { whereOf } from "../filter/filter";
import { Only } from "../filter/Only";
import { ChartMenu } from "../menu/ChartMenu";
import { rolloutsAt } from "./rollouts";
import style from "../Metrics.module.css";

interface Props {
  entry: Placed;
  asked: Asked;
  entries: readonly CatalogueEntry[];
  figures: string;
  /** How its number was computed, if the title leaves that open. */
  definition: string;
  /** The colour of the run that has the value; null without other runs. */
  colour: number | null;
  pointed: number | null;
  /** The step of the value; undefined without one. */
  step: number | undefined;
  /** Which step that is, in words; empty if it goes without saying. */
  which: string;
  value: string;
  /** The moving average at it, in words; empty without one. */
  average: string;
  csv: () => string;
  charted: Charted | MapCharted | null;
  hasRollouts: boolean;
  /** Why it has no curve; empty if it has one. */
  error: string;
  tools: ChartTools;
}

export function ChartHead({
  entry,
  asked,
  entries,
  figures,
  definition,
  colour,
  pointed,
  step,
  which,
  value,
  average,
  csv,
  charted,
  hasRollouts,
  error,
  tools,
}: Props) {
  const session = useSession();
  const title = harmless(entry.title);
  const about = (words: string): string => (definition === "" ? words : `${words}\n${definition}`);
  const place = step === undefined ? "" : `${value} ${whichValue(step, average, pointed)}: open its rollouts`;
  return (
    <>
      <h3>
        <ChartTitle
          title={entry.title}
          short={entry.short ?? entry.title}
          about={about(explained(entry))}
          tools={tools}
        />
        <small title={about(figures)}>{pointed === null ? figures : `step ${figure(step ?? pointed)}`}</small>
        <span class={style["last"]}>
          {step !== undefined && value !== "" && (
            <>
              {colour !== null && <i style={{ background: `var(--run-${colour})` }} />}
              {which}
            </>
          )}
        </span>
        {step === undefined || !hasRollouts ? (
          <b title={average}>{step === undefined ? "" : value}</b>
        ) : (
          <a
            class={style["value"]}
            href={session.place.href(rolloutsAt(session, entry, step))}
            onClick={session.place.onLink(rolloutsAt(session, entry, step))}
            aria-label={place}
            title={place}
          >
            {value}
          </a>
        )}
        <ChartMenu
          title={title}
          csv={csv}
          drawn={charted}
          entries={entries}
          placed={entry}
          error={error}
          tools={tools}
        />
        <button
          type="button"
          class={`action ${style["tool"]} ${style["away"]}`}
          aria-label={`Remove ${title}`}
          title="Remove"
          onClick={tools.remove}
        >
          ×
        </button>
      </h3>
      <Only where={whereOf(asked)} split={asked["split"] ?? ""} />
    </>
  );
}

const whichValue = (step: number, average: string, pointed: number | null): string =>
  `at step ${figure(step)}${pointed === null ? ", the last" : ""}${average === "" ? "" : ` (${average})`}`;

/** Its own name and description, if the title says less. */
export function explained({ kind, name, title, about, unit }: CatalogueEntry): string {
  const own = name === "" || name === title ? title : `${title} (${kind === "trainer" ? "" : `${kind} `}${name})`;
  return harmless([own, about, unit].filter((one) => one !== "").join(" · "));
}
