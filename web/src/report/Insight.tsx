/** What the reward of the run pays for and which rules samples break, with links to those that the file holds. */

import { KINDS } from "../features/brief";
import { Chip, Verdict } from "../features/verdicts";
import { nameOfSample } from "../lib/sample/name";
import { count } from "../lib/numbers/numbers";
import { harmless } from "../lib/text/invisible";
import { Text } from "../ui/text/Text";
import type { Insight as InsightData } from "./answers";
import style from "./Report.module.css";

/** Links to samples in a sentence of the brief. */
const MOST_SAMPLES = 3;

interface Props {
  of: InsightData;
  /** The ids of the samples in the file. */
  held: ReadonlySet<string>;
  open: (id: string) => void;
}

export function Insight({ of, held, open }: Props) {
  const { note, brief, findings, aside, parts, rules, checked } = of;
  const samples = (ids: readonly string[]) =>
    ids
      .filter((id) => held.has(id))
      .map((id) => (
        <button key={id} type="button" class="action strong" onClick={() => open(id)}>
          {harmless(nameOfSample(id))}
        </button>
      ));
  const broken = rules.length === 0 ? "no broken rule" : count(rules.length, "broken rule");
  return (
    <>
      <ul class={style["brief"]} aria-label="Brief">
        {brief.map((one) => (
          <li key={one.text}>
            <span>{KINDS[one.kind]}</span>
            <p>
              <Text text={one.text} /> {samples(one.samples).slice(0, MOST_SAMPLES)}
            </p>
          </li>
        ))}
      </ul>
      <details class={style["insight"]}>
        <summary>
          {count(findings.length, "finding")}, {broken}
        </summary>
        <p>
          <Text text={note} /> Findings are evidence, not verdicts; # stands for any number.
        </p>
        <ul>
          {findings.map((one) => (
            <li key={one.text}>
              <Chip kind={one.kind} meaning={one.meaning} /> <Text text={one.text} /> {samples(one.samples)}
            </li>
          ))}
          {aside.map((one) => (
            <li key={one} class="quiet">
              Not a hack: <Text text={one} />
            </li>
          ))}
        </ul>
        {parts.length > 0 && <h2>What each part pays for</h2>}
        <ul>
          {parts.map((one) => (
            <li key={one}>
              <Text text={one} />
            </li>
          ))}
        </ul>
        <h2>Data quality</h2>
        {rules.length === 0 && <p>No sample breaks a rule: {count(checked, "rule")} checked.</p>}
        <ul>
          {rules.map((one) => (
            <li key={one.text}>
              <Verdict isCertain={one.is_certain} /> <Text text={one.text} /> The rule: {one.words}.{" "}
              {samples(one.samples)}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}
