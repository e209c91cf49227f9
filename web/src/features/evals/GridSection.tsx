/** The results of each prompt: the choice of grid and prompts, and the samples of the open cell. */

import { useSession } from "../../state/useSession";
import { useMemo, useState } from "preact/hooks";
import { type ApiError, askGrid } from "../../api";
import type { PromptGrid, PromptScores } from "../../api/types.gen";
import { count, figure, whole } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { asApiError } from "../../state/browser/login";
import { Failure, State } from "../../ui/layout/EmptyState";
import { StepEnd } from "../../ui/controls/StepEnd";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Answers } from "./Answers";
import { setEvalOptions, evalOption } from "./evalQuery";
import { Grid } from "./Grid";
import { Judge } from "./Judge";
import { KINDS } from "./outcomes";
import style from "./Evals.module.css";

const PAGE = 100;
const BETWEEN =
  "Compare two steps: between 80 and 90, a prompt is lost if it was answered correctly at 80 and no longer at 90";

const SORTS: readonly [string, string][] = [
  ["index", "original order"],
  ["last", "share correct at the last step"],
  ["change", "change from first to last"],
  ["share", "share correct"],
];

export function GridSection({ split, splits }: { split: string; splits: readonly string[] }) {
  const session = useSession();
  const item = session.run.now.value;
  const [first, last] = [evalOption(session, "from"), evalOption(session, "to")];
  const isTurned = first !== "" && last !== "" && Number(first) > Number(last);
  const query = {
    split,
    metric: evalOption(session, "metric"),
    bar: evalOption(session, "bar"),
    only: evalOption(session, "only"),
    sort: evalOption(session, "by"),
    step_min: isTurned ? last : first,
    step_max: isTurned ? first : last,
  };
  const key = item === null ? null : [item.id, item.version, ...Object.values(query)].join("\n");
  const loaded = useLoaded(
    key,
    () => askGrid(item?.id ?? "", { ...query, offset: 0, limit: PAGE }),
    `${item?.id}\n${split}`,
  );
  const reply = loaded.value;
  return (
    <section class={style["grids"]} aria-label="Prompts by step">
      <div class={style["bar"]}>
        <h2>Prompts by step</h2>
        <label>
          <span class="hidden">Split of the grid</span>
          <select
            class="field"
            value={split}
            onChange={(event) => setEvalOptions(session, { of: event.currentTarget.value, only: "" })}
          >
            {splits.map((name) => (
              <option key={name} value={name}>
                {name === "train" ? "repeated training prompts" : harmless(name)}
              </option>
            ))}
          </select>
        </label>
        <label>
          sort by
          <select
            class="field"
            value={evalOption(session, "by") || "index"}
            onChange={(event) =>
              setEvalOptions(session, { by: event.currentTarget.value === "index" ? "" : event.currentTarget.value })
            }
          >
            {SORTS.map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <span class={style["between"]} title={BETWEEN}>
          steps{" "}
          <StepEnd
            words="First step"
            value={whole(first)}
            choose={(end) => setEvalOptions(session, { from: end === null ? "" : String(end) })}
          />
          –
          <StepEnd
            words="Last step"
            value={whole(last)}
            choose={(end) => setEvalOptions(session, { to: end === null ? "" : String(end) })}
          />
        </span>
      </div>
      {reply !== null && split === "train" && <Judge of={reply} />}
      {reply !== null && (
        <Kinds reply={reply} discarded={item?.splits.find(({ name }) => name === split)?.discarded ?? 0} />
      )}
      {loaded.error !== null && <Failure error={loaded.error} what="The grid" again={loaded.again} />}
      {loaded.error === null && reply !== null && (
        <Content key={Object.values(query).join("\n")} reply={reply} query={query} />
      )}
    </section>
  );
}

/** The kinds of prompts with their counts: each narrows the grid. */
function Kinds({ reply, discarded }: { reply: PromptGrid; discarded: number }) {
  const session = useSession();
  const chosen = evalOption(session, "only");
  const all = KINDS.reduce((sum, [name]) => sum + (name === "unbeaten" ? 0 : (reply.counts[name] ?? 0)), 0);
  const shown = KINDS.filter(([name]) => (reply.counts[name] ?? 0) > 0 || name === chosen);
  return (
    <div class={style["kinds"]} role="group" aria-label="Kinds of prompts">
      <button
        type="button"
        class="action"
        aria-pressed={chosen === ""}
        onClick={() => setEvalOptions(session, { only: "" })}
      >
        all {figure(all)}
      </button>
      {shown.map(([name, words, meaning]) => (
        <button
          key={name}
          type="button"
          class="action"
          aria-pressed={chosen === name}
          title={meaning}
          onClick={() => setEvalOptions(session, { only: chosen === name ? "" : name })}
        >
          {words} {figure(reply.counts[name] ?? 0)}
        </button>
      ))}
      {discarded > 0 && <span class="quiet">{count(discarded, "discarded sample")} included</span>}
      {reply.once > 0 && <span class="quiet">{count(reply.once, "prompt")} of a single step not shown</span>}
    </div>
  );
}

interface Query {
  split: string;
  metric: string;
  bar: string;
  only: string;
  sort: string;
  step_min: string;
  step_max: string;
}

function Content({ reply, query }: { reply: PromptGrid; query: Query }) {
  const session = useSession();
  const [pages, setPages] = useState<ReadonlyMap<number, readonly PromptScores[]>>(new Map());
  const [error, setError] = useState<ApiError | null>(null);
  const asking = useMemo(() => new Set<string>(), []);
  const { step, ask: fields } = session.place.now.value;
  const open = fields["prompt"];
  if (reply.total === 0) return <Nothing reply={reply} split={query.split} />;
  const rowAt = (row: number): PromptScores | undefined =>
    row < PAGE ? reply.prompts[row] : pages.get(Math.floor(row / PAGE))?.[row % PAGE];
  const need = async (page: number): Promise<void> => {
    const name = `${reply.version} ${page}`;
    if (page === 0 || asking.has(name)) return;
    asking.add(name);
    try {
      const more = await askGrid(reply.run, { ...query, offset: page * PAGE, limit: PAGE });
      setPages((before) => new Map(before).set(page, more.prompts));
      setError(null);
    } catch (reason) {
      asking.delete(name);
      setError(asApiError(reason));
    }
  };
  return (
    <div class={style["content"]}>
      {error !== null && <p role="alert">{error.message}</p>}
      <Grid
        steps={reply.steps}
        alike={reply.prompts}
        total={reply.total}
        rowAt={rowAt}
        need={(page) => void need(page)}
        page={PAGE}
        open={open === undefined || step === null ? null : { prompt: open, step }}
        read={(prompt) => void session.prompt.open(reply.run, query.split, prompt)}
        choose={(prompt, at) => session.place.go({ step: at, ask: { ...fields, prompt } })}
      />
      {open !== undefined && step !== null && (
        <Answers
          run={reply.run}
          query={query}
          metric={reply.metric}
          step={step}
          prompt={open}
          version={reply.version}
        />
      )}
      {open === undefined && (
        <p class={`quiet ${style["hint"]}`}>
          Press a prompt to read its answers step by step, or a cell to read those of one step.
        </p>
      )}
    </div>
  );
}

function Nothing({ reply, split }: { reply: PromptGrid; split: string }) {
  const session = useSession();
  if (evalOption(session, "only") !== "" || evalOption(session, "from") !== "" || evalOption(session, "to") !== "") {
    return (
      <State title="No such prompt">
        <p>
          <button type="button" class="button" onClick={() => setEvalOptions(session, { only: "", from: "", to: "" })}>
            Show all
          </button>
        </p>
      </State>
    );
  }
  return split === "train" ? (
    <State title="No training prompt appears twice">
      <p>
        {reply.once === 0
          ? "No sample here has a value yet."
          : `Each prompt (${figure(reply.once)}) appears at one step only. Those that appear again are listed here.`}
      </p>
    </State>
  ) : (
    <State title="No prompts">
      <p>
        No sample of {split} has a finite {reply.metric}. Choose another metric to decide which answers are correct.
      </p>
    </State>
  );
}
