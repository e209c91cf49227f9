/** The samples that show a finding, one choice at a time: pairs of siblings, the earliest, a counterexample. */

import { useState } from "preact/hooks";
import type { Finding, RunFindings } from "../../api/types.gen";
import { Segments } from "../../ui/controls/Segments";
import { Excerpt } from "./Excerpt";
import style from "./Findings.module.css";

interface Choice {
  value: string;
  label: string;
  words: string;
  ids: readonly string[];
}

/** The samples to read. */
export function choicesOf(
  { effect, samples: { pairs, earliest, counterexample } }: Finding,
  hasCorrect: boolean,
): Choice[] {
  const won = `Two answers to one prompt: the first has ${effect < 0 ? "less" : "more"} of it, and won${
    hasCorrect ? " though it is no more correct" : ""
  }.`;
  const one = (value: string, label: string, words: string, id: string): Choice[] =>
    id === "" ? [] : [{ value, label, words, ids: [id] }];
  return [
    ...pairs.map((ids, i) => ({
      value: String(i),
      label: pairs.length === 1 ? "Siblings" : `Siblings ${i + 1}`,
      words: won,
      ids,
    })),
    ...one("earliest", "Earliest", "The first sample that has it.", earliest),
    ...one(
      "counter",
      "Counterexample",
      `It has ${effect < 0 ? "less of it" : "it"}, and got less reward than its siblings.`,
      counterexample,
    ),
  ];
}

export function Reading({ of, reply: { run, correct } }: { of: Finding; reply: RunFindings }) {
  const choices = choicesOf(of, correct !== "");
  const [value, choose] = useState("");
  const now = choices.find((one) => one.value === value) ?? choices[0];
  if (now === undefined) return <p class="quiet">No indexed sample shows it.</p>;
  return (
    <div class={style["reading"]}>
      <Segments label="Samples to read" options={choices} value={now.value} choose={choose} />
      <p class="quiet">{now.words}</p>
      <div class={style["pair"]}>
        {now.ids.map((id) => (
          <Excerpt key={id} run={run} id={id} of={of} correct={correct} />
        ))}
      </div>
    </div>
  );
}
