/** The bar of the judging mode: the queue, its progress, the three judgements, the agreement and the export. */

import { judgedIn, type Order, type Queue } from "../../state/judging";
import { useSession } from "../../state/useSession";
import { sampleMark } from "../../state/marks";
import { figure } from "../../lib/numbers/numbers";
import { openExport } from "../export";
import { titleOf } from "./words";
import style from "./JudgingBar.module.css";

const ORDERS: readonly { value: Order; label: string }[] = [
  { value: "random", label: "Random order" },
  { value: "strata", label: "Alternating low and high rewards" },
  { value: "disagreement", label: "Most uncertain first" },
];

const KEYS = [
  { judgement: "good", key: "1" },
  { judgement: "bad", key: "2" },
  { judgement: "", key: "0" },
] as const;

export function JudgingBar({ queue }: { queue: Queue }) {
  const session = useSession();
  const { judging } = session;
  const sample = session.place.field.sample.value;
  const now = sample === null ? "" : sampleMark(queue.run, sample).judgement;
  return (
    <section class={style["bar"]} aria-label="Judging" aria-busy={judging.isLoading.value}>
      <Progress queue={queue} />
      <span class={style["judge"]} role="group" aria-label="Judge this sample">
        {KEYS.map(({ judgement, key }) => (
          <button
            key={key}
            type="button"
            class={`button ${style[judgement || "none"]}`}
            aria-pressed={judgement !== "" && now === judgement}
            disabled={queue.ids.length === 0}
            onClick={() => judging.judge(judgement)}
          >
            {judgement !== "" ? titleOf(judgement) : now === "" ? "Skip" : "Clear"} <kbd>{key}</kbd>
          </button>
        ))}
      </span>
      {!queue.isCheck && (
        <label class={style["order"]}>
          <span class="quiet">Order</span>
          <select
            class="field"
            value={queue.order}
            disabled={judging.isLoading.value}
            onChange={({ currentTarget: { value } }) =>
              void judging.begin(ORDERS.find((one) => one.value === value)?.value)
            }
          >
            {ORDERS.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      <span class={style["end"]}>
        {!queue.isCheck && (
          <>
            <button
              type="button"
              class="action"
              title="Judge ten random samples without seeing the reward (J)"
              onClick={() => void judging.begin("random", true)}
            >
              Check the reward
            </button>
            <button
              type="button"
              class="action"
              title="How often the reward agrees with your judgements"
              onClick={() => void judging.agree()}
            >
              Agreement
            </button>
            <button type="button" class="action" title="Save your judgements" onClick={() => openExport("judgements")}>
              Export
            </button>
          </>
        )}
        <button type="button" class="action strong" title="End the judging (j)" onClick={() => judging.end()}>
          {queue.isCheck ? "Stop" : "Done"}
        </button>
      </span>
    </section>
  );
}

/** How far the queue has come, and which samples it has. */
function Progress({ queue }: { queue: Queue }) {
  const { judging, list } = useSession();
  const { ids, at, samples, isCheck, against, order, isWide } = queue;
  if (judging.error.value !== "") return <p class={style["progress"]}>{judging.error.value}</p>;
  const scope = list.scope.value;
  const where = scope?.where ?? "";
  const steps = isWide || scope === null || scope.step === null ? "all steps" : `step ${figure(scope.step)}`;
  const doubt = against === "" ? "groups with mixed rewards first" : `reward against ${against}`;
  const done = judgedIn(queue, scope);
  const words = [steps, where, order === "disagreement" ? doubt : ""].filter((one) => one !== "").join(" · ");
  return (
    <p class={style["progress"]} role="status">
      <b>
        {isCheck
          ? `Check ${figure(at + 1)} of ${figure(ids.length)}`
          : `${done > 0 ? `${figure(done)} judged, ` : ""}${figure(samples - at)} left to judge`}
      </b>
      <small title={words}>{isCheck ? "the reward is hidden" : words}</small>
    </p>
  );
}
