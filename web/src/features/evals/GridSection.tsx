/** How each problem fared: which grid is shown, which problems of it, and the samples of the cell that is open. */

import { useMemo, useState } from "preact/hooks";
import { type ApiError, getGrid } from "../../api";
import type { GridReply, ProblemRow } from "../../api/types.gen";
import { count, figure, whole } from "../../lib/numbers";
import { harmless } from "../../lib/visible";
import { go, place } from "../../state/place";
import { run } from "../../state/runs";
import { asApiError } from "../../state/session";
import { Failure, State } from "../../ui/State";
import { StepEnd } from "../../ui/StepEnd";
import { useLoaded } from "../../ui/useLoaded";
import { Answers } from "./Answers";
import { ask, asked } from "./asked";
import { Grid } from "./Grid";
import { Judge } from "./Judge";
import { KINDS } from "./kinds";
import style from "./Evals.module.css";

const PAGE = 100;

const SORTS: readonly [string, string][] = [["index", "as they came"], ["last", "share right at the last step"], ["change", "change from first to last"], ["share", "share right"]];

export function GridSection({ split, splits }: { split: string; splits: readonly string[] }) {
  const item = run.value;
  const [first, last] = [asked("from"), asked("to")];
  const isTurned = first !== "" && last !== "" && Number(first) > Number(last);
  const query = { split, metric: asked("metric"), bar: asked("bar"), only: asked("only"), sort: asked("by"), step_min: isTurned ? last : first, step_max: isTurned ? first : last };
  const key = item === null ? null : [item.id, item.version, ...Object.values(query)].join("\n");
  const found = useLoaded(key, () => getGrid(item?.id ?? "", { ...query, offset: 0, limit: PAGE }), `${item?.id}\n${split}`);
  const reply = found.value;
  return (
    <section class={style["grids"]} aria-label="Problems by step">
      <div class={style["bar"]}>
        <h2>Problems by step</h2>
        <label>
          <span class="hidden">Of which split</span>
          <select class="field" value={split} onChange={(event) => ask({ of: event.currentTarget.value, only: "" })}>
            {splits.map((name) => <option key={name} value={name}>{name === "train" ? "training prompts that came again" : harmless(name)}</option>)}
          </select>
        </label>
        <label>
          sorted by
          <select class="field" value={asked("by") || "index"} onChange={(event) => ask({ by: event.currentTarget.value === "index" ? "" : event.currentTarget.value })}>
            {SORTS.map(([name, words]) => <option key={name} value={name}>{words}</option>)}
          </select>
        </label>
        <span class={style["between"]} title="What became of problems is told of these steps: between 80 and 90, those are lost that were right at 80">
          steps <StepEnd words="First step" value={whole(first)} choose={(end) => ask({ from: end === null ? "" : String(end) })} />–
          <StepEnd words="Last step" value={whole(last)} choose={(end) => ask({ to: end === null ? "" : String(end) })} />
        </span>
      </div>
      {reply !== null && split === "train" && <Judge of={reply} />}
      {reply !== null && <Kinds reply={reply} />}
      {found.error !== null && <Failure error={found.error} what="The grid" again={found.again} />}
      {found.error === null && reply !== null && <Content key={Object.values(query).join("\n")} reply={reply} query={query} />}
    </section>
  );
}

/** The kinds of problems with how many there are: each narrows the grid to its own. */
function Kinds({ reply }: { reply: GridReply }) {
  const chosen = asked("only");
  const all = KINDS.reduce((sum, [name]) => sum + (name === "unbeaten" ? 0 : (reply.counts[name] ?? 0)), 0);
  const shown = KINDS.filter(([name]) => (reply.counts[name] ?? 0) > 0 || name === chosen);
  return (
    <div class={style["kinds"]} role="group" aria-label="Which problems">
      <button type="button" class="action" aria-pressed={chosen === ""} onClick={() => ask({ only: "" })}>all {figure(all)}</button>
      {shown.map(([name, words, meaning]) => (
        <button key={name} type="button" class="action" aria-pressed={chosen === name} title={meaning} onClick={() => ask({ only: chosen === name ? "" : name })}>
          {words} {figure(reply.counts[name] ?? 0)}
        </button>
      ))}
      {reply.once > 0 && <span class="quiet">{count(reply.once, "prompt")} that came at one step alone {reply.once === 1 ? "is" : "are"} not here</span>}
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

function Content({ reply, query }: { reply: GridReply; query: Query }) {
  const [pages, setPages] = useState<ReadonlyMap<number, readonly ProblemRow[]>>(new Map());
  const [error, setError] = useState<ApiError | null>(null);
  const asking = useMemo(() => new Set<string>(), []);
  const { step, ask: given } = place.value;
  const open = given["problem"];
  if (reply.total === 0) return <Nothing reply={reply} split={query.split} />;
  const rowAt = (row: number): ProblemRow | undefined => (row < PAGE ? reply.problems[row] : pages.get(Math.floor(row / PAGE))?.[row % PAGE]);
  const need = async (page: number): Promise<void> => {
    const name = `${reply.version} ${page}`;
    if (page === 0 || asking.has(name)) return;
    asking.add(name);
    try {
      const more = await getGrid(reply.run, { ...query, offset: page * PAGE, limit: PAGE });
      setPages((known) => new Map(known).set(page, more.problems));
      setError(null);
    } catch (problem) {
      asking.delete(name);
      setError(asApiError(problem));
    }
  };
  return (
    <div class={style["content"]}>
      {error !== null && <p role="alert">{error.message}</p>}
      <Grid
        steps={reply.steps}
        alike={reply.problems}
        total={reply.total}
        rowAt={rowAt}
        need={(page) => void need(page)}
        page={PAGE}
        open={open === undefined || step === null ? null : { problem: open, step }}
        choose={(problem, at) => go({ step: at, ask: { ...given, problem } })}
      />
      {open !== undefined && step !== null && <Answers run={reply.run} query={query} metric={reply.metric} step={step} problem={open} version={reply.version} />}
      {open === undefined && <p class={`quiet ${style["hint"]}`}>Press a cell, and the answers to its problem at that step stand here.</p>}
    </div>
  );
}

function Nothing({ reply, split }: { reply: GridReply; split: string }) {
  if (asked("only") !== "" || asked("from") !== "" || asked("to") !== "") {
    return (
      <State title="No such problem">
        <p><button type="button" class="button" onClick={() => ask({ only: "", from: "", to: "" })}>Show all</button></p>
      </State>
    );
  }
  return split === "train" ? (
    <State title="No training prompt came twice">
      <p>{reply.once === 0 ? "No sample here has a value yet." : `Each of ${count(reply.once, "prompt")} came at one step alone. A prompt that comes again has its row here.`}</p>
    </State>
  ) : (
    <State title="No problem here">
      <p>No sample of {split} has a finite {reply.metric}. Choose another number that tells right answers.</p>
    </State>
  );
}
