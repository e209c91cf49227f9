/** Two runs over the same prompts: a line for each prompt, from its mean reward in one run to that in the other. */

import type { RunItem, SharedPromptItem, SharedPromptsReply } from "../../../api/types.gen";
import { finite, score } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { nameOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { changesOf, setOptions } from "../options";
import style from "./Slopes.module.css";

/** Room above and below the lines, in hundredths of the height. */
const MARGIN = 4;
/** The most characters of a prompt in the title of a line. */
const TITLE_CHARS = 200;

interface Slope {
  prompt: SharedPromptItem;
  from: number;
  to: number;
}

export function Slopes({ reply, runs }: { reply: SharedPromptsReply; runs: readonly [RunItem, RunItem] }) {
  const session = useSession();
  const [a, b] = runs.map(({ id }) => reply.runs.indexOf(id));
  const slopes = reply.prompts.flatMap((prompt): Slope[] => {
    const [from, to] = [finite(prompt.reward_mean[a ?? -1] ?? null), finite(prompt.reward_mean[b ?? -1] ?? null)];
    return from === null || to === null ? [] : [{ prompt, from, to }];
  });
  if (slopes.length === 0 || reply.gain + reply.lose + reply.stay < 2) return null;
  const values = slopes.flatMap(({ from, to }) => [from, to]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const up = (value: number): number =>
    high === low ? 50 : 100 - MARGIN - ((100 - 2 * MARGIN) * (value - low)) / (high - low);
  const words = changesOf(reply);
  return (
    <figure class={style["slopes"]}>
      <figcaption class="quiet">
        {words}: from {harmless(nameOf(runs[0]))} on the left to {harmless(nameOf(runs[1]))} on the right.
        {reply.prompts.length < reply.total && " The lines are those of the prompts below."}
      </figcaption>
      <div class={style["framed"]}>
        <span class={style["high"]}>{score(high)}</span>
        <span class={style["low"]}>{score(low)}</span>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={words}>
          {slopes.map(({ prompt, from, to }) => (
            <line
              key={prompt.name}
              x1={0}
              x2={100}
              y1={up(from)}
              y2={up(to)}
              class={style[to > from ? "gain" : to < from ? "loss" : "same"]}
              onClick={() => setOptions(session, { same: prompt.name }, "push")}
            >
              <title>{`${harmless(prompt.prompt.slice(0, TITLE_CHARS))}\n${score(from)} → ${score(to)}`}</title>
            </line>
          ))}
        </svg>
      </div>
    </figure>
  );
}
