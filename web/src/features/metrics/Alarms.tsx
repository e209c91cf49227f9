/** Worth a look: alarms about the curves of the runs, each with a link to the samples that show it. */

import type { AlarmItem, CatalogueEntry, RunItem } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { choicesOf } from "../../lib/address/splits";
import { keyOfCurve } from "../../lib/charts/catalogue";
import { count, figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { colourOf, nameOf } from "../../state/marks";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { Missing } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { hiddenRuns, type Layout, pageAsked } from "./choice";
import { rulesOff } from "./alarms/rulesOff";
import { SwitchedOff, SwitchOff } from "./alarms/SwitchedOff";
import { Unchecked } from "./alarms/Unchecked";
import type { Found } from "./alarms/useAlarms";
import { inRun } from "./parts/rollouts";
import style from "./Metrics.module.css";

export function Alarms({ found, layout }: { found: Found; layout: Layout }) {
  const session = useSession();
  const isAlone = session.overlays.runs.value.length === 0;
  const hidden = isAlone ? new Set<string>() : hiddenRuns(pageAsked(session));
  const shown = found.all
    .filter(({ run }) => !hidden.has(run.id))
    .map(({ run, reply }) => {
      const off = rulesOff(run.id);
      const isOn = ({ rule }: { rule: string }): boolean => !off.has(rule);
      const unchecked = reply.unchecked.filter(isOn);
      const looked = reply.rules - off.size - unchecked.length;
      return { run, reply, alarms: reply.alarms.filter(isOn), unchecked, looked };
    });
  const all = shown.flatMap(({ run, alarms }) => alarms.map((alarm) => ({ run, alarm })));
  const alarms = [true, false].flatMap((isError) =>
    all.filter(({ alarm }) => (alarm.severity === "error") === isError),
  );
  const looked = Math.max(0, ...shown.map((one) => one.looked));
  const checked = `${count(looked, "rule")} checked${isAlone ? "" : `, ${count(shown.length, "run")}`}`;
  const leftOut = shown.reduce((sum, { reply }) => sum + reply.left_out, 0);
  const waiting = session.overlays.runs.value.length + 1 - found.all.length;
  return (
    <>
      <h2>Worth a look {alarms.length > 0 && <small>{checked}</small>}</h2>
      {found.error !== null && <Missing error={found.error} again={found.again} />}
      {alarms.length > 0 && (
        <ul class={style["alarms"]} aria-label="Alarms">
          {alarms.map(({ run, alarm }) => (
            <Alarm
              key={`${run.id} ${alarm.rule} ${alarm.split} ${alarm.first_step} ${alarm.title}`}
              run={run}
              alarm={alarm}
              isAlone={isAlone}
              layout={layout}
            />
          ))}
        </ul>
      )}
      {waiting > 0 && found.error === null ? (
        <p class={style["quiet"]} role="status">
          <span class={style["loading"]}>Checking the curves{isAlone ? "" : ` of ${count(waiting, "run")}`} …</span>
        </p>
      ) : (
        alarms.length === 0 &&
        shown.length > 0 && (
          <p class={style["quiet"]}>{looked > 0 ? `Nothing stands out: ${checked}.` : "No rule could be checked."}</p>
        )
      )}
      {leftOut > 0 && <p class={style["quiet"]}>{count(leftOut, "further alarm")} left out.</p>}
      <Unchecked runs={shown.map(({ run, unchecked }) => ({ of: isAlone ? "" : nameOf(run), rules: unchecked }))} />
      {shown.map(({ run }) => (
        <SwitchedOff key={run.id} run={run.id} of={isAlone ? "" : nameOf(run)} />
      ))}
    </>
  );
}

interface AlarmProps {
  run: RunItem;
  alarm: AlarmItem;
  /** True if the charts have one run, which needs no name. */
  isAlone: boolean;
  layout: Layout;
}

function Alarm({ run, alarm, isAlone, layout }: AlarmProps) {
  const session = useSession();
  const to = samplesOf(session, alarm, run);
  const toToken = tokenOf(session, alarm, run);
  const { first_step: first, last_step: last } = alarm;
  const curves = curvesWith(new Set(alarm.curves.map(keyOfCurve)), layout);
  return (
    <li data-severity={alarm.severity}>
      <h3 title={`${alarm.severity === "error" ? "Error" : "Hint"}. Rule: ${harmless(alarm.words)}`}>
        <span class="hidden">{alarm.severity === "error" ? "Error: " : "Hint: "}</span>
        {harmless(alarm.title)}
      </h3>
      <p>
        {!isAlone && (
          <>
            <i style={{ background: `var(--run-${colourOf(run.id)})` }} />
            <b>
              <Text text={nameOf(run)} />
            </b>
            :{" "}
          </>
        )}
        {harmless(alarm.text)}
      </p>
      <div class={style["actions"]}>
        {run.splits.length > 0 && (
          <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
            Samples of {first === last ? `step ${figure(first)}` : `steps ${figure(first)} to ${figure(last)}`}
            <span class="hidden">: {harmless(alarm.title)}</span>
          </a>
        )}
        {alarm.sample !== "" && (
          <a href={session.place.href(toToken)} onClick={session.place.onLink(toToken)}>
            Largest recorded token
            <span class="hidden">: {harmless(alarm.title)}</span>
          </a>
        )}
        {curves.length > 0 && (
          <button
            type="button"
            class="action"
            title={`See ${harmless(curves.map(({ title }) => title).join(", "))}`}
            onClick={() => showCurves(curves, layout)}
          >
            Show {curves.length === 1 ? "curve" : "curves"}
          </button>
        )}
        <SwitchOff run={run.id} rule={alarm.rule} title={harmless(alarm.title)} />
      </div>
    </li>
  );
}

/** The curves with these keys. */
export const curvesWith = (keys: ReadonlySet<string>, { entries }: Layout): CatalogueEntry[] =>
  entries.filter((one) => keys.has(keyOfCurve(one)) && ["", "score"].includes(one.stat));

/** Draw curves that the page does not draw yet, and bring the first into view. */
export function showCurves(curves: readonly CatalogueEntry[], layout: Layout): void {
  layout.show(curves);
  const [first] = curves.map(keyOfCurve);
  setTimeout(() => {
    const cards = [...document.querySelectorAll<HTMLElement>("[data-curves]")];
    const card = cards.find(({ dataset }) => dataset["curves"]?.split("\n").includes(first ?? ""));
    card?.scrollIntoView({ block: "center" });
    card?.animate([{ outline: "2px solid var(--accent)" }, { outline: "2px solid transparent" }], 2000);
  });
}

/** The token that shows it best. */
const tokenOf = (session: Session, { sample, token, series }: AlarmItem, run: RunItem): Partial<Place> => ({
  ...inRun(session, run.id),
  page: "rollouts",
  sample,
  view: "tokens",
  token,
  colour: series,
});

/** The list of the samples that show it, in its run; the other runs stay in the charts. */
export function samplesOf(session: Session, alarm: AlarmItem, run: RunItem): Partial<Place> {
  const { first_step: first, last_step: last } = alarm;
  return {
    ...inRun(session, run.id),
    page: "rollouts",
    discarded: alarm.discarded,
    mode: "samples",
    split: alarm.split || (choicesOf(run.splits)[0]?.name ?? null),
    step: first,
    extent: first === last ? "step" : [first, last],
    where: alarm.where,
    sort: alarm.sort || "index",
    descending: alarm.sort !== "" && alarm.descending,
    sample: null,
  };
}
