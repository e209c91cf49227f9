/** Evaluations: scores by step, and the results of each prompt. It also covers training prompts that recur. */

import { useSession } from "../../state/useSession";
import { askEvals } from "../../api";
import type { RunEvals } from "../../api/types.gen";
import { score } from "../../lib/numbers/numbers";
import { evalsName } from "../pages";
import { harmless } from "../../lib/text/invisible";
import { Alone, Failure, Loading, State } from "../../ui/layout/EmptyState";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { setEvalOptions, evalOption } from "./evalQuery";
import { GridSection } from "./GridSection";
import { AllScores } from "./Scores";
import pageStyle from "../../ui/layout/page.module.css";
import { TypedField } from "../../ui/controls/TypedField";
import style from "./Evals.module.css";

export function EvalsPage() {
  const session = useSession();
  const item = session.run.now.value;
  const query = { metric: evalOption(session, "metric"), bar: evalOption(session, "bar"), k: evalOption(session, "k") };
  const key = item === null ? null : [item.id, item.version, ...Object.values(query)].join("\n");
  const loaded = useLoaded(key, () => askEvals(item?.id ?? "", query), item?.id);
  const reply = loaded.value;
  if (item === null) return null;
  const heading = evalsName(session);
  if (loaded.error !== null) {
    return (
      <main class={style["page"]} aria-label={heading}>
        <Controls reply={reply} />
        <Failure error={loaded.error} what="The evaluations" again={loaded.again} />
      </main>
    );
  }
  if (reply === null)
    return (
      <Alone heading={heading}>
        <Loading />
      </Alone>
    );
  const splits = [
    ...reply.evals.map((one) => one.split),
    ...item.splits.flatMap(({ name }) => (name === "train" ? [name] : [])),
  ];
  const split = splits.find((name) => name === evalOption(session, "of")) ?? splits[0];
  if (split === undefined) {
    return (
      <Alone heading={heading}>
        <State title="No samples yet">
          <p>Evaluations appear here when the trainer writes them.</p>
        </State>
      </Alone>
    );
  }
  return (
    <main class={style["page"]} aria-label={heading}>
      <Controls reply={reply} />
      {reply.evals.length === 0 ? (
        <p class={style["none"]}>
          These training prompts appear at several steps. Press one to read its answers step by step. The run has no
          evaluations: no split is named <code>eval/…</code>.
        </p>
      ) : (
        <AllScores evals={reply.evals} />
      )}
      <GridSection split={split} splits={splits} />
    </main>
  );
}

/** The metric and the threshold of a correct answer. */
function Controls({ reply }: { reply: RunEvals | null }) {
  const session = useSession();
  const metrics = [...new Set(["reward", ...(reply?.evals.flatMap((one) => one.metrics) ?? [])])];
  const chosen = evalOption(session, "metric");
  const bars = [...new Set(reply?.evals.map(({ bar }) => score(bar, "none")))];
  return (
    <header class={pageStyle["controls"]}>
      <h1>{evalsName(session)}</h1>
      <label>
        Correct by
        <select
          class="field"
          value={chosen}
          onChange={(event) => setEvalOptions(session, { metric: event.currentTarget.value, bar: "" })}
        >
          <option value="">default of each</option>
          {metrics.map((name) => (
            <option key={name} value={name}>
              {harmless(name)}
            </option>
          ))}
        </select>
      </label>
      <Typed
        label="from"
        name="bar"
        hint={bars.length === 1 ? (bars[0] ?? "") : "declared"}
        title="Minimum value that counts as correct (empty: the default below)"
      />
      {reply?.evals.length !== 0 && (
        <Typed label="k" name="k" hint="1, 2, 4, …" title="Values of k for pass@k and pass^k, separated by commas" />
      )}
    </header>
  );
}

/** A field that writes its value into the address when it loses the focus, or on Enter. */
function Typed({ label, name, hint, title }: { label: string; name: string; hint: string; title: string }) {
  const session = useSession();
  const take = (value: string): void => {
    if (value.trim() !== evalOption(session, name)) setEvalOptions(session, { [name]: value.trim() });
  };
  return (
    <label title={title}>
      {label}
      <TypedField
        class={`field ${style["typed"]}`}
        value={evalOption(session, name)}
        placeholder={hint}
        inputMode={name === "bar" ? "decimal" : "text"}
        take={take}
      />
    </label>
  );
}
