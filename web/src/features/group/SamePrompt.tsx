/** The same prompt at other steps and in other runs: how its answers changed during training. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiError, askPrompt } from "../../api";
import type { PromptLife, PromptStep } from "../../api/types.gen";
import { scopeOf } from "../../lib/address/address";
import { count, exact, figure, finite, score } from "../../lib/numbers/numbers";
import { cellColour, placeIn } from "../../lib/colour/scales";
import { evalsName } from "../pages";
import { nameOf } from "../../state/marks";
import { runOf, runs } from "../../state/runs";
import { asApiError } from "../../state/browser/login";
import { useLoaded } from "../../ui/hooks/useLoaded";
import folded from "./folded.module.css";
import style from "./SamePrompt.module.css";

/** The most bars side by side: those around the current step. */
const MOST = 400;
/** The most other runs to search without a request. */
const FEW_RUNS = 8;
const BAR_PX = 40;

/** Whether it is open: the same for all groups, while the page is open. */
const isOpen = signal(false);

export function SamePrompt() {
  const session = useSession();
  const runId = session.place.field.run.value;
  const sample = session.place.field.sample.value;
  const of = `${runId} ${session.group.groupId.value}`;
  const loaded = useLoaded(
    runId === null || sample === null ? null : `${of} ${session.steps.reply.value?.steps.length}`,
    async () => askPrompt(runId ?? "", { id: sample ?? "" }),
    of,
  );
  const same = loaded.value;
  const evals = { page: "evals", ask: {} } as const;
  const isOnce = same !== null && same.steps.length < 2;
  return (
    <>
      <details
        class={`${folded["folded"]} ${style["same"]}`}
        open={isOpen.value}
        onToggle={(event) => (isOpen.value = event.currentTarget.open)}
      >
        <summary>
          <b>Same prompt</b>{" "}
          <span class="clip">{loaded.error === null ? summary(session, same) : loaded.error.message}</span>
        </summary>
        {isOpen.value && same !== null && (
          <>
            {same.steps.length > 1 && <Strips same={same} />}
            {same.is_cut && <p class="quiet">Not all steps are listed.</p>}
            <OtherRuns prompt={same.prompt} />
          </>
        )}
      </details>
      {isOnce && evalsName(session) === "Evals" && (
        <p class={`quiet ${style["again"]}`}>
          Prompts that come again are under{" "}
          <a href={session.place.href(evals)} onClick={session.place.onLink(evals)}>
            Evals
          </a>
          .
        </p>
      )}
    </>
  );
}

/** The split of the current sample: the list may cover several. */
function splitHere(session: Session): string | null {
  const sample = session.place.field.sample.value;
  const split = session.place.field.split.value;
  return (sample === null ? null : scopeOf(sample)?.split) ?? split;
}

function summary(session: Session, same: PromptLife | null): string {
  if (same === null) return "…";
  const here = same.steps.filter(({ split }) => split === splitHere(session));
  const elsewhere = same.steps.length - here.length;
  if (same.steps.length < 2) return "only at this step in this run";
  const [first, last] = [here[0], here.at(-1)];
  const change = here.length > 1 && first && last ? `, mean reward ${meanAt(first)}, ${meanAt(last)}` : "";
  const others = elsewhere > 0 ? `, and ${count(elsewhere, "step")} of other splits` : "";
  return `${same.is_cut ? "the first " : ""}${count(here.length, "step")}${change}${others}`;
}

const meanAt = ({ step, reward_mean: mean }: PromptStep): string => `${score(mean, "none")} at step ${figure(step)}`;

function bySplit(all: readonly PromptStep[]): [string, readonly PromptStep[]][] {
  const result = new Map<string, PromptStep[]>();
  for (const one of all) {
    const current = result.get(one.split);
    if (current === undefined) result.set(one.split, [one]);
    else current.push(one);
  }
  return [...result];
}

function Strips({ same }: { same: PromptLife }) {
  const splits = bySplit(same.steps);
  return (
    <>
      {splits.map(([split, steps]) => (
        <Strip key={split} of={same.run} split={split} steps={steps} isNamed={splits.length > 1} />
      ))}
    </>
  );
}

/** One bar for each step, with the height and colour of its mean reward; a press goes there. */
function Strip({
  of,
  split,
  steps,
  isNamed,
}: {
  of: string;
  split: string;
  steps: readonly PromptStep[];
  isNamed: boolean;
}) {
  const session = useSession();
  const list = useRef<HTMLUListElement>(null);
  const runId = session.place.field.run.value;
  const step = session.place.field.step.value;
  const isThis = of === runId && split === splitHere(session);
  const at = isThis ? steps.findIndex((one) => one.step === step) : -1;
  const from = Math.max(0, Math.min(Math.max(0, at) - MOST / 2, steps.length - MOST));
  const shown = steps.slice(from, from + MOST);
  useLayoutEffect(() => {
    if (list.current !== null && at >= 0) list.current.scrollLeft = (at - from) * BAR_PX - list.current.clientWidth / 2;
  }, [at, from]);
  return (
    <>
      {isNamed && <p class={style["split"]}>{split}</p>}
      {shown.length < steps.length && (
        <p class="quiet">
          The {figure(shown.length)} nearest of {count(steps.length, "step")}.
        </p>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and leads to its links */}
      <ul ref={list} class={style["strip"]} aria-label={`This prompt in ${split}, by step`}>
        {shown.map((one) => (
          <Bar key={one.step} of={of} one={one} isHere={isThis && one.step === step} />
        ))}
      </ul>
    </>
  );
}

function Bar({ of, one, isHere }: { of: string; one: PromptStep; isHere: boolean }) {
  const session = useSession();
  const mean = finite(one.reward_mean);
  const height = Math.round(3 + 25 * (placeIn(session.columns.scale("reward"), mean) ?? 0));
  const background = cellColour(session.columns.scale("reward"), mean);
  const groups = one.groups > 1 ? ` in ${count(one.groups, "group")}` : "";
  const discards = one.discarded > 0 ? `, ${figure(one.discarded)} of them discarded` : "";
  const words = `mean reward ${exact(one.reward_mean)} of ${count(one.samples, "sample")}${groups}${discards}`;
  const to = placeOf(session, of, one);
  return (
    <li>
      <a
        href={session.place.href(to)}
        onClick={session.place.onLink(to)}
        class={style["bar"]}
        aria-current={isHere ? "step" : undefined}
        title={`Step ${figure(one.step)}: ${words}`}
      >
        <span class={style["value"]}>{score(one.reward_mean, "–")}</span>
        <span class={style["room"]}>
          <i
            class={background === null ? style["none"] : undefined}
            style={{ height: `${height}px`, ...(background === null ? {} : { background }) }}
          />
        </span>
        <span class={style["step"]}>
          <span class="hidden">, {words}, step </span>
          {figure(one.step)}
        </span>
      </a>
    </li>
  );
}

function placeOf(session: Session, of: string, one: PromptStep) {
  return {
    ...(of === session.place.field.run.value ? {} : { run: of }),
    page: "rollouts" as const,
    view: "group" as const,
    split: one.split,
    step: one.step,
    sample: one.ids[0] ?? null,
    list: false,
  };
}

interface Elsewhere {
  searched: number;
  replies: PromptLife[];
  error: ApiError | null;
}

const NOTHING: Elsewhere = { searched: 0, replies: [], error: null };

/** The prompt in the other open runs: a few are searched at once, many on demand, one after the other. */
function OtherRuns({ prompt }: { prompt: string }) {
  const session = useSession();
  const others = (runs.value ?? []).filter(({ id }) => id !== session.run.now.value?.id).map(({ id }) => id);
  const key = others.join("\n");
  const [isAsked, ask] = useState(others.length <= FEW_RUNS);
  const [{ searched, replies, error }, put] = useState(NOTHING);
  useEffect(() => {
    put(NOTHING);
    if (!isAsked || key === "") return undefined;
    let isWanted = true;
    void (async () => {
      for (const id of key.split("\n")) {
        try {
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that other requests do not wait
          const reply = await askPrompt(id, { prompt });
          if (!isWanted) return;
          put((now) => ({
            ...now,
            searched: now.searched + 1,
            replies: reply.steps.length > 0 ? [...now.replies, reply] : now.replies,
          }));
        } catch (caught) {
          if (!isWanted) return;
          put((now) => ({ ...now, searched: now.searched + 1, error: asApiError(caught) }));
        }
      }
    })();
    return () => {
      isWanted = false;
    };
  }, [prompt, isAsked, key]);
  if (others.length === 0) return null;
  if (!isAsked)
    return (
      <button
        type="button"
        class="action strong"
        onClick={() => ask(true)}
      >{`Look in the ${figure(others.length)} other runs`}</button>
    );
  return (
    <>
      {replies.map((one) => (
        <section key={one.run} class={style["other"]} aria-label={`In run ${titleOf(one.run)}`}>
          <p class={style["split"]}>
            In run <b>{titleOf(one.run)}</b>, {count(one.steps.length, "step")}
          </p>
          <Strips same={one} />
        </section>
      ))}
      <p class="quiet" role="status">
        {searched < others.length
          ? `Looked in ${figure(searched)} of ${count(others.length, "other run")} …`
          : replies.length === 0 && "No other open run has exactly this prompt."}
        {error !== null && ` ${error.message}`}
      </p>
    </>
  );
}

function titleOf(id: string): string {
  const item = runOf(id);
  return item === undefined ? id : nameOf(item);
}
