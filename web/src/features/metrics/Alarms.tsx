/** Worth a look: what rules found in the curves of the run, each with a link to the samples that show it. */

import type { AlarmItem, AlarmsReply, CatalogueEntry } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { count, figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { useSession } from "../../state/useSession";
import { Missing } from "../../ui/layout/EmptyState";
import type { Loaded } from "../../ui/hooks/useLoaded";
import type { Layout } from "./choice";
import { keyOfCurve } from "./landmarks/landmarks";
import { rulesOff } from "./alarms/rulesOff";
import { SwitchedOff, SwitchOff } from "./alarms/SwitchedOff";
import { Unchecked } from "./alarms/Unchecked";
import style from "./Metrics.module.css";

export function Alarms({ loaded, layout }: { loaded: Loaded<AlarmsReply>; layout: Layout }) {
  const reply = loaded.value;
  const run = useSession().run.now.value?.id ?? "";
  const off = rulesOff(run);
  const alarms = reply?.alarms.filter(({ rule }) => !off.has(rule)) ?? [];
  const unchecked = reply?.unchecked.filter(({ rule }) => !off.has(rule)) ?? [];
  const looked = (reply?.rules ?? 0) - off.size - unchecked.length;
  return (
    <>
      <h2>Worth a look {alarms.length > 0 && <small>{count(looked, "rule")} checked</small>}</h2>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply === null && loaded.error === null && (
        <p class={style["quiet"]} role="status">
          <span class={style["loading"]}>The rules look at the curves …</span>
        </p>
      )}
      {reply !== null && alarms.length === 0 && (
        <p class={style["quiet"]}>
          {looked > 0 ? `Nothing stands out: ${count(looked, "rule")} checked.` : "No rule could be checked."}
        </p>
      )}
      {alarms.length > 0 && (
        <ul class={style["alarms"]} aria-label="Alarms">
          {alarms.map((alarm) => (
            <Alarm
              key={`${alarm.rule} ${alarm.split} ${alarm.first_step} ${alarm.title}`}
              alarm={alarm}
              layout={layout}
            />
          ))}
        </ul>
      )}
      {reply !== null && reply.left_out > 0 && (
        <p class={style["quiet"]}>{count(reply.left_out, "further alarm")} left out.</p>
      )}
      <Unchecked rules={unchecked} />
      <SwitchedOff run={run} />
    </>
  );
}

function Alarm({ alarm, layout }: { alarm: AlarmItem; layout: Layout }) {
  const session = useSession();
  const to = samplesOf(alarm, session.run.splitChoices.value[0]?.name ?? null);
  const { first_step: first, last_step: last } = alarm;
  const keys = new Set(alarm.curves.map(keyOfCurve));
  const curves = layout.entries.filter((one) => keys.has(keyOfCurve(one)) && ["", "score"].includes(one.stat));
  return (
    <li data-severity={alarm.severity}>
      <h3 title={`${alarm.severity === "error" ? "Error" : "Hint"}. Rule: ${harmless(alarm.words)}`}>
        <span class="hidden">{alarm.severity === "error" ? "Error: " : "Hint: "}</span>
        {harmless(alarm.title)}
      </h3>
      <p>{harmless(alarm.text)}</p>
      <div class={style["actions"]}>
        {session.run.splitChoices.value.length > 0 && (
          <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
            {first === last ? `Open step ${figure(first)}` : `Open steps ${figure(first)} to ${figure(last)}`}
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
        <SwitchOff run={session.run.now.value?.id ?? ""} rule={alarm.rule} title={harmless(alarm.title)} />
      </div>
    </li>
  );
}

/** Draw curves that the page does not draw yet, and bring the first into view. */
function showCurves(curves: readonly CatalogueEntry[], layout: Layout): void {
  layout.show(curves);
  const [first] = curves.map(keyOfCurve);
  setTimeout(() => {
    const cards = [...document.querySelectorAll<HTMLElement>("[data-curves]")];
    const card = cards.find(({ dataset }) => dataset["curves"]?.split("\n").includes(first ?? ""));
    card?.scrollIntoView({ block: "center" });
    card?.animate([{ outline: "2px solid var(--accent)" }, { outline: "2px solid transparent" }], 2000);
  });
}

/** The list of the samples that show it; `firstSplit` is that of an alarm without one. */
export function samplesOf(alarm: AlarmItem, firstSplit: string | null): Partial<Place> {
  const { first_step: first, last_step: last } = alarm;
  return {
    page: "rollouts",
    discarded: alarm.discarded,
    mode: "samples",
    split: alarm.split || firstSplit,
    step: first,
    extent: first === last ? "step" : [first, last],
    where: alarm.where,
    sort: alarm.sort || "index",
    descending: alarm.sort !== "" && alarm.descending,
    sample: null,
  };
}
