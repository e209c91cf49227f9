/** What each part of the reward pays for: a formula for each, whose terms list their samples. */

import { askParts } from "../../../api/routes.gen";
import type { RunParts, PartTerm, RewardPart } from "../../../api/types.gen";
import { percent } from "../../../lib/sample/discardReasons";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Failure } from "../../../ui/layout/EmptyState";
import { Text } from "../../../ui/text/Text";
import { option, samplesOf } from "../options";
import { To } from "../To";
import style from "./Parts.module.css";

export function Parts({ run, version }: { run: string; version: string }) {
  const session = useSession();
  const query = {
    split: option(session, "of"),
    step_min: option(session, "from"),
    step_max: option(session, "to"),
    env: option(session, "env"),
  };
  const key = [run, version, ...Object.values(query)].join("\n");
  const { value: reply, error, again } = useLoaded(key, () => askParts(run, query), run);
  if (reply === null && error === null) return null;
  return (
    <section class={style["parts"]} aria-label="What each part pays for">
      {reply === null ? (
        error !== null && <Failure error={error} what="What each part pays for" again={again} />
      ) : (
        <Formulas reply={reply} />
      )}
    </section>
  );
}

function Formulas({ reply }: { reply: RunParts }) {
  if (reply.samples === 0) return null;
  return (
    <>
      <h2>What each part pays for</h2>
      <p class="quiet">
        <Text text={reply.note} />
      </p>
      <ul>
        {reply.parts.map((part) => (
          <li key={part.name}>
            {part.terms.length === 0 ? <Text text={part.text} /> : <Formula part={part} reply={reply} />}
          </li>
        ))}
      </ul>
    </>
  );
}

function Formula({ part, reply }: { part: RewardPart; reply: RunParts }) {
  const share = part.r2 ?? 0;
  return (
    <>
      <b>{harmless(part.name)}</b> ={" "}
      {part.terms.map((term, i) => (
        <span key={term.words}>
          {sign(term, i)}
          {Number(Math.abs(term.weight).toPrecision(2))} ·{" "}
          <To place={samplesOf(term, reply)} text={harmless(term.words)} />
        </span>
      ))}
      <span class={style["r2"]} title="The share of its variance among siblings, in groups where no term was chosen">
        explains {percent(share, 1)}
        <i style={{ inlineSize: `${100 * share}%` }} />
      </span>
    </>
  );
}

const sign = ({ weight }: PartTerm, i: number): string => (weight < 0 ? " − " : i === 0 ? "" : " + ");
