/** The samples of a cell: each with its value, and a link to it. */

import { useSession } from "../../state/useSession";
import { askEvalsAnswers } from "../../api";
import type { Answer } from "../../api/types.gen";
import { scopeOf } from "../../lib/address/address";
import { type Shared, sharedBy, without } from "../../lib/diff/commonWords";
import { count, exact, figure, score } from "../../lib/numbers/numbers";
import { preview } from "../../lib/sample/preview";
import { Failure } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { setEvalOptions } from "./evalQuery";
import style from "./Evals.module.css";

interface Props {
  run: string;
  query: { split: string; metric: string; bar: string };
  metric: string;
  step: number;
  prompt: string;
  version: string;
}

export function Answers({ run, query: { split, metric, bar }, metric: name, step, prompt, version }: Props) {
  const session = useSession();
  const of = [run, split, metric, bar, step, prompt].join("\n");
  const loaded = useLoaded(`${of}\n${version}`, () => askEvalsAnswers(run, { split, metric, bar, step, prompt }), of);
  const answers = loaded.value?.answers ?? [];
  const common = sharedBy(answers.map(({ preview: text }) => preview(text).text));
  return (
    <aside class={style["answers"]} aria-label="Samples of the cell">
      <h3>
        Step {figure(step)} <small class="quiet">{loaded.value === null ? "" : count(answers.length, "sample")}</small>
        <button
          type="button"
          class="action strong"
          title="Read the answers to this prompt step by step"
          onClick={() => void session.prompt.open(run, split, prompt)}
        >
          All steps
        </button>
        <button type="button" class="action" aria-label="Close" onClick={() => setEvalOptions(session, { prompt: "" })}>
          ×
        </button>
      </h3>
      {loaded.error !== null && <Failure error={loaded.error} what="The samples" again={loaded.again} />}
      <ul>
        {answers.map((one) => (
          <Answer key={one.id} one={one} metric={name} common={common} />
        ))}
      </ul>
    </aside>
  );
}

function Answer({
  one: { id, value, correct, discarded, preview: start, status },
  metric,
  common,
}: {
  one: Answer;
  metric: string;
  common: Shared;
}) {
  const session = useSession();
  const to = { page: "rollouts", ...scopeOf(id), sample: id, discarded: discarded !== "", list: false } as const;
  const word = correct === null ? "no value" : correct ? "correct" : "wrong";
  return (
    <li>
      <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
        <span class={style["answer"]} title={`${metric} ${exact(value)}`}>
          <i class={style[correct === true ? "all" : correct === null ? "untold" : "none"]} /> {word}{" "}
          <b>{score(value, "–")}</b>
        </span>
        {discarded !== "" && (
          <em>
            discarded: <Text text={discarded} />
          </em>
        )}
        <span class={style["preview"]}>
          {start.trim() === "" ? (
            <span class="quiet">({status === "aborted" ? "cancelled, no answer" : "empty"})</span>
          ) : (
            <Text text={without(preview(start).text, common)} />
          )}
        </span>
      </a>
    </li>
  );
}
