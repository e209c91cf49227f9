/** The tokens of a run: a series by step and by position, what rules take out, token strings, the worst tokens. */

import { askTokenSeries } from "../../api";
import type { RunSeries, TokenCoverage } from "../../api/types.gen";
import { count, figure, finite, whole } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { useSession } from "../../state/useSession";
import { Alone, Failure, Loading, State } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { ByPosition } from "./ByPosition";
import { ByRule } from "./ByRule";
import { ByStep } from "./ByStep";
import { Changes } from "./Changes";
import { MostKl } from "./MostKl";
import { option, otherStep, setOption, useAnswer } from "./scope";
import { Worst } from "./Worst";
import pageStyle from "../../ui/layout/page.module.css";
import { TypedField } from "../../ui/controls/TypedField";
import style from "./RunTokens.module.css";

/** Divergences, in nats: the page begins with the one that has the largest value. */
const DIVERGENCES: ReadonlySet<string> = new Set(["mismatch_kl", "kl", "kl_k3"]);
/** Without one, it begins with the first of these that the run has. */
const FIRST = ["entropy", "logprobs", "value_error"];

function firstOf(all: readonly RunSeries[]): RunSeries | undefined {
  const highOf = ({ high }: RunSeries): number => finite(high) ?? 0;
  const [worst] = all.filter(({ name }) => DIVERGENCES.has(name)).toSorted((a, b) => highOf(b) - highOf(a));
  return worst ?? FIRST.map((name) => all.find((one) => one.name === name)).find((one) => one !== undefined) ?? all[0];
}

export function RunTokensPage() {
  const session = useSession();
  const loaded = useAnswer(["series"], (id, split) => askTokenSeries(id, { split }));
  const reply = loaded.value;
  if (loaded.error !== null && reply === null)
    return (
      <Alone heading="Tokens">
        <Failure error={loaded.error} what="The token series" again={loaded.again} />
      </Alone>
    );
  if (session.run.now.value?.splits.length === 0 || reply?.series.length === 0)
    return (
      <Alone heading="Tokens">
        <Nothing coverage={reply?.coverage ?? null} />
      </Alone>
    );
  if (reply === null)
    return (
      <Alone heading="Tokens">
        <Loading />
      </Alone>
    );
  const chosen = option(session, "series");
  const series = reply.series.find(({ name }) => name === chosen) ?? firstOf(reply.series);
  if (series === undefined) return null;
  return (
    <main class={style["page"]} aria-label="Tokens">
      <header class={`${pageStyle["controls"]} ${style["controls"]}`}>
        <h1>Tokens</h1>
        <label>
          Series
          <select
            class="field"
            value={series.name}
            onChange={(event) => setOption(session, { series: event.currentTarget.value })}
          >
            {reply.series.map(({ name, title }) => (
              <option key={name} value={name}>
                {harmless(title)}
              </option>
            ))}
          </select>
        </label>
        <Beside />
        <p class={style["about"]}>{harmless(series.about)}</p>
        <Coverage of={reply.coverage} />
      </header>
      <ByStep series={series} />
      <div class={style["columns"]}>
        <div>
          <ByPosition series={series} />
          <MostKl />
        </div>
        <Worst series={series} />
      </div>
      <Changes />
      <ByRule />
    </main>
  );
}

/** The field for the other step. */
function Beside() {
  const session = useSession();
  const other = otherStep(session);
  if (other === null) return null;
  const take = (text: string): void => setOption(session, { before: String(whole(text) ?? "") });
  return (
    <>
      <label title="The step to compare the current one with">
        Compare with step
        <TypedField class={`field ${style["typed"]}`} value={figure(other.step)} inputMode="numeric" take={take} />
      </label>
      <span class="quiet" role="status">
        {other.why}
      </span>
    </>
  );
}

/** Why there is nothing to see, and what to record. */
function Nothing({ coverage }: { coverage: TokenCoverage | null }) {
  if (coverage !== null && coverage.pending > 0)
    return (
      <State title="The tokens are not indexed yet">
        <p>{count(coverage.pending, "sample")} to go. The page follows by itself.</p>
      </State>
    );
  return (
    <State title="No sample of this split has token series">
      <p>Record a number for each token, and this page shows it across the run:</p>
      <ul class={style["record"]}>
        <li>
          <code>logprobs</code> of sampling, with <code>tokens</code> or <code>token_ids</code>: probabilities, and
          which token strings gain and lose
        </li>
        <li>
          <code>trainer_logprobs</code> and an advantage: where trainer and inference engine differ, and what rules take
          out
        </li>
        <li>
          <code>ref_logprobs</code>: KL to the reference
        </li>
        <li>
          <code>entropy</code>, <code>values</code> with <code>token_rewards</code>: entropy, and the error of the
          critic
        </li>
      </ul>
      <p>
        The recorder takes them as <code>{"recorder.sample(..., series={...})"}</code>. Files of other frameworks have
        them under their own names.
      </p>
    </State>
  );
}
