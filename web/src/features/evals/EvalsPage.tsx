/** Evaluations: how each came out by step, and how each problem fared. Training prompts that come again are here, too. */

import { getEvals } from "../../api";
import type { EvalsReply } from "../../api/types.gen";
import { score } from "../../lib/numbers";
import { harmless } from "../../lib/visible";
import { run } from "../../state/runs";
import { Alone, Failure, Loading, State } from "../../ui/State";
import { useLoaded } from "../../ui/useLoaded";
import { ask, asked } from "./asked";
import { GridSection } from "./GridSection";
import { AllScores } from "./Scores";
import style from "./Evals.module.css";

export function EvalsPage() {
  const item = run.value;
  const query = { metric: asked("metric"), bar: asked("bar"), k: asked("k") };
  const key = item === null ? null : [item.id, item.version, ...Object.values(query)].join("\n");
  const found = useLoaded(key, () => getEvals(item?.id ?? "", query), item?.id);
  const reply = found.value;
  if (item === null) return null;
  if (found.error !== null) {
    return (
      <main class={style["page"]} aria-label="Evals">
        <Controls reply={reply} />
        <Failure error={found.error} what="The evaluations" again={found.again} />
      </main>
    );
  }
  if (reply === null) return <Alone heading="Evals"><Loading /></Alone>;
  const splits = [...reply.evals.map((one) => one.split), ...item.splits.flatMap(({ name }) => (name === "train" ? [name] : []))];
  const split = splits.find((name) => name === asked("of")) ?? splits[0];
  if (split === undefined) {
    return (
      <Alone heading="Evals">
        <State title="No sample here yet">
          <p>When the trainer writes evaluations, they appear here by themselves.</p>
        </State>
      </Alone>
    );
  }
  return (
    <main class={style["page"]} aria-label="Evals">
      <Controls reply={reply} />
      {reply.evals.length === 0 ? (
        <p class={style["none"]}>
          This run holds no evaluation: no split of it is called <code>eval/…</code>. Below are the training prompts that came at several steps.
        </p>
      ) : (
        <AllScores evals={reply.evals} />
      )}
      <GridSection split={split} splits={splits} />
    </main>
  );
}

/** What tells a right answer. */
function Controls({ reply }: { reply: EvalsReply | null }) {
  const metrics = [...new Set(["reward", ...(reply?.evals.flatMap((one) => one.metrics) ?? [])])];
  const chosen = asked("metric");
  const bars = [...new Set(reply?.evals.map(({ bar }) => score(bar, "none")))];
  return (
    <header class={style["controls"]}>
      <h1>Evals</h1>
      <label>
        Right by
        <select class="field" value={chosen} onChange={(event) => ask({ metric: event.currentTarget.value, bar: "" })}>
          <option value="">what fits each</option>
          {metrics.map((name) => <option key={name} value={name}>{harmless(name)}</option>)}
        </select>
      </label>
      <Typed label="from" name="bar" hint={bars.length === 1 ? (bars[0] ?? "") : "declared"} title="The value from which on an answer is right; empty: as it says below" />
      <Typed label="k" name="k" hint="1, 2, 4, …" title="The values of k for pass@k and pass^k, separated by commas" />
    </header>
  );
}

/** A field whose value goes into the address when it is left, or with Enter. */
function Typed({ label, name, hint, title }: { label: string; name: string; hint: string; title: string }) {
  const take = (value: string): void => {
    if (value.trim() !== asked(name)) ask({ [name]: value.trim() });
  };
  return (
    <label title={title}>
      {label}
      <input
        class={`field ${style["typed"]}`}
        value={asked(name)}
        placeholder={hint}
        inputMode={name === "bar" ? "decimal" : "text"}
        onChange={(event) => take(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && take(event.currentTarget.value)}
      />
    </label>
  );
}
