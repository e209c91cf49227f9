/** Beside the results: the number of matching samples by step, or by run; each narrows the search down. */

import { useSession } from "../../state/useSession";
import { useRef, useState } from "preact/hooks";
import { binned } from "../../lib/numbers/bins";
import { count, figure } from "../../lib/numbers/numbers";
import { colourOf, nameOf } from "../../state/marks";
import { runOf } from "../../state/runs";
import type { Results } from "../../state/search";
import { Text } from "../../ui/text/Text";
import style from "./Facets.module.css";

const BARS = 48;
const SPLITS = 6;
const RUNS = 20;

export function Facets({ results }: { results: Results }) {
  const [only] = results.request.runs;
  return (
    <aside class={style["facets"]} aria-label="What was found, counted">
      {only === undefined ? <ByRun results={results} /> : <BySplit results={results} run={only} />}
    </aside>
  );
}

function BySplit({ results, run }: { results: Results; run: string }) {
  const splits = [...results.bySplit].toSorted(
    ([a], [b]) => Number(b === "train") - Number(a === "train") || a.localeCompare(b),
  );
  const words = splits.slice(0, SPLITS);
  return (
    <>
      {words.map(([split, steps]) => (
        <Bars key={split} split={split} steps={steps} results={results} run={run} />
      ))}
      {splits.length > words.length && (
        <p class="quiet">{count(splits.length - words.length, "more split")} with matching samples.</p>
      )}
    </>
  );
}

interface BarsProps {
  split: string;
  steps: ReadonlyMap<number, number>;
  results: Results;
  run: string;
}

function Bars({ split, steps, results, run }: BarsProps) {
  const session = useSession();
  const list = useRef<HTMLOListElement>(null);
  const [stop, setStop] = useState(-1);
  const whole = runOf(run)?.splits.find(({ name }) => name === split);
  const { step_min: low, step_max: high } = results.request;
  const numbers = [...steps.keys()];
  const bins = binned(
    steps,
    low ?? whole?.first_step ?? numbers[0] ?? 0,
    high ?? whole?.last_step ?? numbers[0] ?? 0,
    BARS,
  );
  const most = bins.reduce((peak, bin) => Math.max(peak, bin.count), 1);
  const sum = bins.reduce((all, bin) => all + bin.count, 0);
  if (bins.length < 2) return null;
  const at = stop >= 0 && stop < bins.length ? stop : bins.length - 1;
  const move = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    list.current?.querySelectorAll("a")[Math.max(0, Math.min(bins.length - 1, at + by))]?.focus();
  };
  return (
    <section class={style["part"]} aria-label={`Found in ${split}, by step`}>
      <h2 class={style["title"]}>
        <Text text={split} /> by step{" "}
        <small>
          {count(sum, "sample")}, at most {figure(most)} per bar
        </small>
      </h2>
      <ol class={style["bars"]} ref={list}>
        {bins.map(({ from, to, count: hits }, i) => {
          const range = from === to ? `Step ${figure(from)}` : `Steps ${figure(from)} to ${figure(to)}`;
          const words = `${range}: ${count(hits, "sample")}`;
          const target = { page: "search" as const, split, extent: [from, to] as const };
          return (
            <li key={from}>
              <a
                href={session.place.href(target)}
                onClick={session.place.onLink(target)}
                onKeyDown={move}
                onFocus={() => setStop(i)}
                tabIndex={i === at ? 0 : -1}
                aria-label={words}
                title={words}
              >
                <i style={{ height: `${hits === 0 ? 0 : Math.max(4, (100 * hits) / most)}%` }} />
              </a>
            </li>
          );
        })}
      </ol>
      <p class={style["ends"]}>
        <span>{figure(bins[0]?.from ?? null)}</span>
        <span>{figure(bins.at(-1)?.to ?? null)}</span>
      </p>
    </section>
  );
}

function ByRun({ results }: { results: Results }) {
  const session = useSession();
  const result = Object.entries(results.now?.found_by_run ?? {}).toSorted(([, a], [, b]) => b - a);
  const most = result[0]?.[1] ?? 1;
  if (result.length === 0) return null;
  const { search } = session.place.now.value;
  return (
    <section class={style["part"]} aria-label="Found by run">
      <h2 class={style["title"]}>
        By run <small>{count(result.length, "run")}</small>
      </h2>
      <ol class={style["runs"]}>
        {result.slice(0, RUNS).map(([id, number]) => {
          const of = runOf(id);
          const target = {
            page: "search" as const,
            run: id,
            extent: "run" as const,
            search: { ...search, everywhere: false },
          };
          return (
            <li key={id}>
              <a href={session.place.href(target)} onClick={session.place.onLink(target)}>
                <span class="clip">
                  <Text text={of === undefined ? id : nameOf(of)} />
                </span>
                <b>{figure(number)}</b>
                <i style={{ width: `${(100 * number) / most}%`, background: `var(--run-${colourOf(id)})` }} />
              </a>
            </li>
          );
        })}
      </ol>
      {result.length > RUNS && <p class="quiet">{count(result.length - RUNS, "more run")}</p>}
    </section>
  );
}
