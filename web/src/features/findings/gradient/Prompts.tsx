/** Prompts of several steps: always right, never right, solved, lost. */

import type { RunGradient } from "../../../api/types.gen";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { To } from "../To";
import { promptsOf } from "./places";

const WORDS = { always: "always right", never: "never right", solved: "solved", lost: "lost", mixed: "mixed" } as const;

export function Prompts({ reply }: { reply: RunGradient }) {
  const fared = reply.prompts;
  const all = Object.entries(WORDS).filter(([name]) => fared !== null && fared[name as keyof typeof WORDS] > 0);
  if (fared === null || all.length === 0) return null;
  return (
    <p>
      Prompts of several steps, by {harmless(fared.metric)}:{" "}
      {all.map(([name, words], i) => (
        <span key={name}>
          {i === 0 ? "" : ", "}
          <To
            place={promptsOf(reply, fared.metric, name)}
            text={`${figure(fared[name as keyof typeof WORDS])} ${words}`}
          />
        </span>
      ))}
      .
    </p>
  );
}
