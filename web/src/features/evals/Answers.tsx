/** The samples of a cell: each with its value, and the way to it. */

import { getCell } from "../../api";
import type { AnswerItem } from "../../api/types.gen";
import { scopeOf } from "../../lib/address";
import { commonWords, without } from "../../lib/alike";
import { count, exact, figure, score } from "../../lib/numbers";
import { preview } from "../../lib/preview";
import { href, onLink } from "../../state/place";
import { Failure } from "../../ui/State";
import { Text } from "../../ui/Text";
import { useLoaded } from "../../ui/useLoaded";
import { ask } from "./asked";
import style from "./Evals.module.css";

interface Props {
  run: string;
  query: { split: string; metric: string; bar: string };
  metric: string;
  step: number;
  problem: string;
  version: string;
}

export function Answers({ run, query: { split, metric, bar }, metric: told, step, problem, version }: Props) {
  const of = [run, split, metric, bar, step, problem].join("\n");
  const found = useLoaded(`${of}\n${version}`, () => getCell(run, { split, metric, bar, step, problem }), of);
  const answers = found.value?.answers ?? [];
  const common = commonWords(answers.map(({ preview: text }) => preview(text).text));
  return (
    <aside class={style["answers"]} aria-label="Samples of the cell">
      <h3>
        Step {figure(step)} <small class="quiet">{found.value === null ? "" : count(answers.length, "sample")}</small>
        <button type="button" class="action" aria-label="Close" onClick={() => ask({ problem: "" })}>×</button>
      </h3>
      {found.error !== null && <Failure error={found.error} what="The samples" again={found.again} />}
      <ul>
        {answers.map((one) => <Answer key={one.id} one={one} metric={told} common={common} />)}
      </ul>
    </aside>
  );
}

function Answer({ one: { id, value, right, discarded, preview: start, status }, metric, common }: { one: AnswerItem; metric: string; common: ReadonlySet<string> }) {
  const to = { page: "rollouts", ...scopeOf(id), sample: id, discarded: discarded !== "", list: false } as const;
  const word = right === null ? "no value" : right ? "right" : "wrong";
  return (
    <li>
      <a href={href(to)} onClick={onLink(to)}>
        <span class={style["answer"]} title={`${metric} ${exact(value)}`}>
          <i class={style[right === true ? "all" : right === null ? "untold" : "none"]} /> {word} <b>{score(value, "–")}</b>
        </span>
        {discarded !== "" && <em>discarded: <Text text={discarded} /></em>}
        <span class={style["preview"]}>{start.trim() === "" ? <span class="quiet">({status === "aborted" ? "cancelled, no answer" : "empty"})</span> : <Text text={without(preview(start).text, common)} />}</span>
      </a>
    </li>
  );
}
