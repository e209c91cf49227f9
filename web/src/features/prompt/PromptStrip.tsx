/**
 * The steps where the prompt of the open sample appears, above the sample: a press, a drag or a key shows the answer of
 * another step in its place.
 */

import { useMemo, useRef } from "preact/hooks";
import type { PromptStep } from "../../api/types.gen";
import { count, exact, figure, finite, score } from "../../lib/numbers/numbers";
import { cellColour, placeIn } from "../../lib/colour/scales";
import { chooseRender, render } from "../../state/browser/textOptions";
import type { Pick } from "../../state/prompt";
import { useSession } from "../../state/useSession";
import { barsOf, MOST_BARS, stepAt } from "./bars";
import style from "./PromptStrip.module.css";

const PICKS: readonly [Pick, string][] = [
  ["place", "same place"],
  ["best", "best answers"],
  ["worst", "worst answers"],
];

export function PromptStrip() {
  const session = useSession();
  if (!session.prompt.appearsAgain.value) return null;
  const steps = session.prompt.steps.value;
  const at = session.prompt.at.value;
  const here = steps[at];
  return (
    <section class={style["band"]} aria-label="This prompt by step" aria-busy={steps.length === 0}>
      {steps.length > 0 && (
        <>
          <p class={style["words"]}>
            <b>
              <i>This prompt{at >= 0 && ", "}</i>
              {at >= 0 && `${figure(at + 1)} of ${figure(steps.length)}`}
              {session.prompt.life.value?.is_cut === true && "+"}
            </b>
            {here !== undefined && (
              <span title={`mean reward ${exact(here.reward_mean)}`}>
                <i>step {figure(here.step)}, </i>mean {score(here.reward_mean, "none")}
              </span>
            )}
          </p>
          <div
            class={style["scale"]}
            style={{ maxWidth: `${Math.max(120, Math.min(steps.length, MOST_BARS) * 28)}px` }}
          >
            <Track steps={steps} at={at} />
            <p class={style["ends"]} aria-hidden="true">
              <span>{figure(steps[0]?.step)}</span>
              <span>{figure(steps.at(-1)?.step)}</span>
            </p>
          </div>
          <div class={style["tools"]}>
            <Picks />
            <ThenAndNow />
            <Differences />
          </div>
        </>
      )}
    </section>
  );
}

/** The bars: as high and in the colour of the mean reward of a step. It is one slider, for keys and pointers. */
function Track({ steps, at }: { steps: readonly PromptStep[]; at: number }) {
  const session = useSession();
  const bars = useMemo(() => barsOf(steps), [steps]);
  const scale = session.columns.scale("reward");
  const frame = useRef(0);
  const here = steps[at];

  const to = (place: number, isDrag = false): void => session.prompt.go(place, isDrag ? "late" : "push");
  const point = (event: PointerEvent & { currentTarget: HTMLElement }, isDrag: boolean): void => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    const place = stepAt(steps.length, (event.clientX - box.left) / box.width);
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => place !== session.prompt.at.peek() && to(place, isDrag));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const place = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (place === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    to(place);
  };
  return (
    <div
      class={`${style["track"]} ${bars.length > 60 ? style["dense"] : ""}`}
      role="slider"
      tabIndex={0}
      aria-label="Step of this prompt"
      aria-valuemin={1}
      aria-valuemax={steps.length}
      aria-valuenow={at + 1}
      aria-valuetext={here === undefined ? "another step" : wordsOf(here)}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        point(event, false);
      }}
      onPointerMove={(event) => point(event, true)}
      onKeyDown={onKeyDown}
    >
      {bars.map(({ first, stop, mean, discarded }) => {
        const background = cellColour(scale, mean);
        const share = placeIn(scale, mean);
        const one = steps[first];
        return (
          <span
            key={first}
            class={at >= first && at < stop ? style["here"] : undefined}
            title={one === undefined ? undefined : stop - first > 1 ? rangeOf(one, steps[stop - 1]) : wordsOf(one)}
          >
            <i
              class={background === null ? style["none"] : undefined}
              style={{
                height: `${Math.round(4 + 22 * (share ?? 0))}px`,
                ...(background === null ? {} : { background }),
              }}
            >
              {discarded > 0 && <b style={{ height: `${Math.round(100 * discarded)}%` }} />}
            </i>
          </span>
        );
      })}
    </div>
  );
}

function wordsOf({ split, step, reward_mean: mean, samples, discarded }: PromptStep): string {
  const discards = discarded > 0 ? `, ${figure(discarded)} discarded` : "";
  const place = split === "train" ? "" : `${split}, `;
  const reward = finite(mean) === null ? "none" : exact(mean);
  return `${place}step ${figure(step)}: mean reward ${reward} of ${count(samples, "sample")}${discards}`;
}

const rangeOf = (first: PromptStep, last: PromptStep | undefined): string =>
  `steps ${figure(first.step)} to ${figure(last?.step)}`;

/** Which sample of each step is shown. */
function Picks() {
  const session = useSession();
  return (
    <select
      class={style["pick"]}
      aria-label="Answer of each step"
      value={session.prompt.pick.value}
      onChange={(event) => {
        const chosen = PICKS.find(([name]) => name === event.currentTarget.value);
        if (chosen !== undefined) session.prompt.choose(chosen[0]);
      }}
    >
      {PICKS.map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  );
}

function ThenAndNow() {
  const session = useSession();
  if (session.prompt.thenAndNow.value === null) return null;
  return (
    <button
      type="button"
      class="action strong"
      aria-pressed={session.prompt.isThenAndNow.value}
      title="The best answer of the first step beside that of the last (p)"
      onClick={() => session.prompt.toggleThenAndNow()}
    >
      Best then and now
    </button>
  );
}

/** Whether words are marked that the answer of the step before lacks. */
function Differences() {
  const session = useSession();
  const before = session.prompt.before.value;
  if (before === null || session.place.field.view.value !== "transcript") return null;
  const refused = session.differences.refused.value;
  return (
    <button
      type="button"
      class={`action ${style["differences"]}`}
      aria-pressed={render.value.differences}
      title={refused === "" ? `Marks words that are not in the answer of step ${figure(before.step)}` : refused}
      onClick={() => chooseRender({ differences: !render.value.differences })}
    >
      {render.value.differences && refused !== ""
        ? `Too different from step ${figure(before.step)}`
        : `Differences from step ${figure(before.step)}`}
    </button>
  );
}
