/** Data quality: the broken rules, in words and with samples; one line if no rule is broken. */

import { useEffect, useRef } from "preact/hooks";
import { askLint } from "../../../api/routes.gen";
import type { BrokenRule, RunLint } from "../../../api/types.gen";
import { count, figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Failure } from "../../../ui/layout/EmptyState";
import { Text } from "../../../ui/text/Text";
import { Verdict } from "../../verdicts";
import { option } from "../options";
import { To } from "../To";
import style from "./Quality.module.css";

export function Quality({ run, version }: { run: string; version: string }) {
  const session = useSession();
  const query = {
    split: option(session, "of"),
    step_min: option(session, "from"),
    step_max: option(session, "to"),
  };
  const key = [run, version, ...Object.values(query)].join("\n");
  const { value: reply, error, again } = useLoaded(key, () => askLint(run, query), run);
  if (reply === null && error === null) return null;
  return (
    <section class={style["quality"]} aria-label="Data quality">
      {reply === null
        ? error !== null && <Failure error={error} what="The data quality" again={again} />
        : reply.samples > 0 && <Rules reply={reply} />}
    </section>
  );
}

function Rule({ of }: { of: BrokenRule }) {
  const isHere = option(useSession(), "finding") === of.rule;
  const rule = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isHere) rule.current?.scrollIntoView({ block: "start" });
  }, [isHere]);
  return (
    <div data-certain={of.is_certain || undefined} data-here={isHere || undefined} ref={rule}>
      <h3>
        <Verdict isCertain={of.is_certain} />{" "}
        {of.text
          .split("`")
          .map((part, at) => (at % 2 === 1 ? <code key={at}>{harmless(part)}</code> : <Text key={at} text={part} />))}
      </h3>
      <p>
        The rule: {of.words}. {of.samples.length > 0 && "Samples: "}
        {of.samples.map((id, i) => (
          <span key={id}>
            {i > 0 && ", "}
            <To place={{ page: "rollouts", sample: id }} text={id} />
          </span>
        ))}
      </p>
    </div>
  );
}

function Rules({ reply: { broken, unchecked, checked, samples, discarded, read } }: { reply: RunLint }) {
  const part = read < samples ? `; ${figure(read)} of them read in full, evenly over the steps` : "";
  const unused = discarded === 0 ? "" : `, including ${figure(discarded)} discarded`;
  const all = `${count(checked.length, "rule")} checked over ${count(samples, "sample")}${unused}${part}`;
  const not = unchecked.length === 0 ? "" : `; ${figure(unchecked.length)} not checked`;
  return (
    <>
      {broken.length > 0 && <h2>Data quality</h2>}
      {broken.map((one) => (
        <Rule key={one.rule} of={one} />
      ))}
      <details>
        <summary>
          {broken.length === 0 && "Data quality: no sample breaks a rule. "}
          {all}
          {not}
        </summary>
        <ul>
          {unchecked.map(({ rule, reason }) => (
            <li key={rule}>
              Not checked: {rule}, for {reason}.
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}
