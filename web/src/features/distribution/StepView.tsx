/** One step: the distribution of a metric, its value for each sample, and all changes since the step before. */

import { askStepValues } from "../../api";
import type { CatalogueEntry, MetricAtStep, StepValues } from "../../api/types.gen";
import { definitionOf, neededBy, samplesWith } from "../../lib/charts/words/basis";
import { ownValue } from "../../lib/data/record";
import { areAlike, filterOf } from "../../lib/distribution/distribution";
import { count, figure, finite, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { Failure, Loading, Missing, State } from "../../ui/layout/EmptyState";
import { Histogram } from "./Histogram";
import { SampleBars } from "./SampleBars";
import style from "./Distribution.module.css";

/** The most bars that are drawn. */
const MOST_BARS = 1000;

/** The default second metric for a metric. */
const BESIDE: Readonly<Record<string, string>> = {
  reward: "ref_reward",
  valid_reward: "ref_valid_reward",
  response_chars: "ref_response_chars",
};

/** Lengths of response and reference, whose means come first. */
const LENGTHS = ["response_tokens", "response_chars", "ref_response_chars"];

const NOTHING = "-";

interface Props {
  entries: readonly CatalogueEntry[];
  /** The chosen metric and the one beside it; empty for the usual ones. */
  of: string;
  beside: string;
  choose: (of: string, beside: string) => void;
}

export function StepView({ entries, of, beside, choose }: Props) {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const step = session.place.field.step.value ?? session.steps.reply.value?.steps.at(-1) ?? null;
  const names = entries.filter(({ kind }) => kind === "sample").map(({ name }) => name);
  const own = names.includes(of) ? of : (names.find((name) => name === "reward") ?? names[0] ?? "");
  const usual = ownValue(BESIDE, own) ?? "";
  const chosen = beside === "" && names.includes(usual) ? usual : beside;
  const other = names.includes(chosen) && chosen !== own ? chosen : "";
  const lengths = LENGTHS.filter((name) => names.includes(name) && name !== own && name !== other);
  const drawn = [own, ...(other === "" ? [] : [other])];
  const loaded = useFollowed(
    run === null || split === null || step === null || own === "" ? null : JSON.stringify([run.id, split]),
    run?.version ?? "",
    async () => {
      const ask = { split: split ?? "", step: step ?? 0 };
      const both = await askStepValues(run?.id ?? "", { ...ask, names: drawn, also: lengths });
      const [a, b] = both.metrics.slice(0, drawn.length).map(({ name, stats: { min, max } }) => {
        const unit = entries.find((one) => one.kind === "sample" && one.name === name)?.unit ?? "";
        return { name, unit, min, max };
      });
      if (a === undefined || b === undefined || areAlike(a, b)) return { both, each: [both] };
      const alone = drawn.map(async (name) => askStepValues(run?.id ?? "", { ...ask, names: [name], also: [] }));
      return { both, each: await Promise.all(alone) };
    },
    JSON.stringify([step, drawn]),
  );
  const title = (name: string): string => {
    const entry = entries.find((one) => one.kind === "sample" && one.name === name);
    return harmless(entry?.title ?? name);
  };
  if (own === "") return <State title="The samples of this run have no numeric values" />;
  const reply = loaded.value;
  return (
    <div class={style["view"]}>
      <p class={style["choice"]}>
        <label>
          Metric
          <select class="field" value={own} onChange={(event) => choose(event.currentTarget.value, "")}>
            <Options names={names} title={title} />
          </select>
        </label>
        <label>
          compared with
          <select
            class="field"
            value={other === "" ? NOTHING : other}
            onChange={(event) => choose(own, event.currentTarget.value)}
          >
            <option value={NOTHING}>nothing</option>
            <Options names={names.filter((name) => name !== own)} title={title} />
          </select>
        </label>
      </p>
      {loaded.error !== null && reply === null && (
        <Failure error={loaded.error} what="The numbers of the step" again={loaded.again} />
      )}
      {loaded.error !== null && reply !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply === null ? loaded.error === null && <Loading /> : <Shown {...reply} title={title} />}
    </div>
  );
}

function Options({ names, title }: { names: readonly string[]; title: (name: string) => string }) {
  return (
    <>
      {names.map((name) => (
        <option key={name} value={name}>
          {title(name)}
        </option>
      ))}
    </>
  );
}

interface ShownProps {
  /** The numbers of all metrics. */
  both: StepValues;
  /** The plots: both metrics on common axes, or each on its own. */
  each: readonly StepValues[];
  title: (name: string) => string;
}

function Shown({ both, each, title }: ShownProps) {
  return (
    <>
      <h2>
        Step {figure(both.step)}: {count(both.total, "sample")}
      </h2>
      <ul class={style["facts"]}>
        {both.metrics.map((metric) => (
          <Fact key={metric.name} metric={metric} title={title(metric.name)} reply={both} />
        ))}
      </ul>
      {each.length > 1 && <p class={style["apart"]}>Each has its own axes, because their units or sizes differ.</p>}
      {each.map((reply) => (
        <Plots key={reply.metrics[0]?.name} reply={reply} title={title} isAlone={each.length > 1} />
      ))}
    </>
  );
}

interface PlotsProps {
  reply: StepValues;
  title: (name: string) => string;
  /** One of several plots, under its title. */
  isAlone: boolean;
}

function Plots({ reply, title, isAlone }: PlotsProps) {
  const session = useSession();
  const drawn = reply.metrics.filter(({ counts }) => counts.length > 0);
  const samples = reply.samples.slice(0, MOST_BARS);
  const series = drawn.map((one, at) => ({
    name: title(one.name),
    values: samples.map(({ values }) => finite(values[at] ?? null)),
  }));
  const [own, beside] = series;
  const gap = samples.map((_, at) => {
    const [a, b] = [own?.values[at] ?? null, beside?.values[at] ?? null];
    return a === null || b === null ? null : a - b;
  });
  const shown = samples.length < reply.total ? `the first ${figure(samples.length)} of ${figure(reply.total)}` : "";
  const of = isAlone ? ` of ${own?.name ?? ""}` : "";
  return (
    <>
      <h3>
        Distribution{of}
        <Key names={series.map((one) => one.name)} />
        {shown !== "" && <small>lines at the foot: {shown}</small>}
      </h3>
      <Histogram
        edges={reply.edges}
        metrics={drawn}
        title={title}
        drawn={reply.samples.flatMap(({ values }) => values.map(finite))}
        values={own?.values ?? []}
        link={(name, values) => linkTo(session, reply, { where: filterOf(name, values) })}
      />
      <h3>
        By sample{of} <small>{shown}</small>
      </h3>
      <SampleBars
        label={`By sample${of}`}
        samples={samples}
        series={series}
        link={(id) => linkTo(session, reply, { id })}
      />
      {beside !== undefined && (
        <>
          <h3>
            {own?.name} − {beside.name}
          </h3>
          <SampleBars
            label="Difference by sample"
            samples={samples}
            series={[{ name: "difference", values: gap }]}
            link={(id) => linkTo(session, reply, { id })}
          />
        </>
      )}
    </>
  );
}

function Key({ names }: { names: readonly string[] }) {
  return names.length < 2 ? null : (
    <small class={style["key"]}>
      {names.map((name, at) => (
        <span key={name}>
          <i class={style[at === 0 ? "own" : "other"]} />
          {name}
        </span>
      ))}
    </small>
  );
}

function Fact({ metric, title, reply }: { metric: MetricAtStep; title: string; reply: StepValues }) {
  const { stats } = metric;
  const chart = { kind: "sample", name: metric.name };
  const basis = samplesWith(stats.count, reply.total, neededBy(chart));
  const definition = definitionOf(chart);
  const [mean, old] = [finite(stats.mean), finite(metric.before?.mean ?? null)];
  const change = mean === null || old === null ? null : mean - old;
  return (
    <li>
      <span>{title}</span>
      <b>{score(mean, "none")}</b>
      {finite(stats.std) !== null && <span>± {score(stats.std)}</span>}
      {change !== null && (
        <span>
          {change < 0 ? "" : "+"}
          {score(change)} since step {figure(reply.before)}
        </span>
      )}
      <span>
        {score(stats.min, "")} to {score(stats.max, "")}
      </span>
      {basis !== "" && <span class={style["basis"]}>{basis}</span>}
      {definition !== "" && <small>{definition}</small>}
    </li>
  );
}

/** A link to the samples of a filter, or to one sample. */
export function linkTo(
  { place }: Session,
  { split, step }: StepValues,
  { where = "", id = null }: { where?: string; id?: string | null },
) {
  const to = { page: "rollouts" as const, discarded: false, split, step, where, sample: id };
  return { href: place.href(to), onClick: place.onLink(to) };
}
