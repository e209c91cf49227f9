/** The samples of one prompt, a column for each run: a press on a reward shows that sample's response. */

import { useState } from "preact/hooks";
import { getMembers } from "../../../api";
import { askPromptSamples } from "../../../api";
import type { MemberText, PromptSample, RunItem, SharedPromptItem } from "../../../api/types.gen";
import { scopeOf } from "../../../lib/address/address";
import { count, exact, figure, score } from "../../../lib/numbers/numbers";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Box } from "../../../ui/layout/Box";
import { Missing } from "../../../ui/layout/EmptyState";
import { Score } from "../../../ui/text/Score";
import { Text } from "../../../ui/text/Text";
import { RunName } from "../../runs";
import style from "./Answers.module.css";

/** More columns and buttons appear on a press. */
const FEW_RUNS = 6;
const FEW_SAMPLES = 16;
/** Blank lines at both ends of a piece, as around thoughts. */
const EDGES = /^(?:[ \t]*\r?\n)+|\s+$/g;
/** The most characters of a response. */
const CHARS = 20_000;

interface Props {
  prompt: SharedPromptItem;
  at: { split: string; step: number };
  /** The runs with samples of the prompt. */
  runs: readonly RunItem[];
}

export function PromptAnswers({ prompt, at, runs }: Props) {
  const [isWhole, whole] = useState(false);
  const shown = isWhole ? runs : runs.slice(0, FEW_RUNS);
  return (
    <div class={style["answers"]}>
      <div class={style["text"]}>
        <Text text={prompt.prompt} />
      </div>
      <div class={style["columns"]}>
        {shown.map((item) => (
          <Column key={item.id} item={item} at={at} prompt={prompt.name} />
        ))}
      </div>
      {shown.length < runs.length && (
        <button type="button" class="button" onClick={() => whole(true)}>
          {`${count(runs.length - shown.length, "more run")}: show`}
        </button>
      )}
    </div>
  );
}

function Column({ item, at, prompt }: Pick<Props, "at"> & { item: RunItem; prompt: string }) {
  const [chosen, choose] = useState("");
  const [isWhole, whole] = useState(false);
  const of = JSON.stringify([item.id, at, prompt]);
  const loaded = useLoaded(`${of} ${item.version}`, () => askPromptSamples(item.id, { ...at, prompt }), of);
  const samples = loaded.value?.samples ?? [];
  const current = samples.find(({ id }) => id === chosen) ?? samples[0];
  return (
    <section class={style["column"]} aria-label={`Samples of ${item.name}`}>
      <RunName item={item} />
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {samples.length > 1 && (
        <div class={style["samples"]} role="group" aria-label="Samples, by reward">
          {(isWhole ? samples : samples.slice(0, FEW_SAMPLES)).map((one) => (
            <button
              key={one.id}
              type="button"
              aria-pressed={one.id === current?.id}
              title={`reward ${exact(one.reward)}${one.discarded === "" ? "" : ", discarded"}`}
              onClick={() => choose(one.id)}
            >
              <Score value={one.reward} />
            </button>
          ))}
          {!isWhole && samples.length > FEW_SAMPLES && (
            <button type="button" onClick={() => whole(true)}>
              {`${figure(samples.length - FEW_SAMPLES)} more`}
            </button>
          )}
        </div>
      )}
      {current !== undefined && <Answer key={current.id} item={item} one={current} />}
    </section>
  );
}

function Answer({ item, one }: { item: RunItem; one: PromptSample }) {
  const session = useSession();
  const loaded = useLoaded(`${item.id}\n${one.id}`, () =>
    getMembers(item.id, { id: one.id, against: one.id, only: [one.id], chars: CHARS, lead: CHARS }),
  );
  const answer = loaded.value?.answers[0];
  const to = { run: item.id, page: "rollouts", ...scopeOf(one.id), sample: one.id, over: othersOf(item.id) } as const;
  function othersOf(id: string): readonly string[] {
    const here = session.place.field.run.value;
    return [...(here === null ? [] : [here]), ...session.place.field.over.value].filter((other) => other !== id);
  }
  const facts = [
    `reward ${score(one.reward, "none")}`,
    ...(one.advantage === null ? [] : [`advantage ${score(one.advantage)}`]),
    ...(one.response_tokens === null ? [] : [count(one.response_tokens, "token")]),
    ...(one.status === "completed" || one.status === "unknown" ? [] : [one.status]),
    ...(one.discarded === "" ? [] : [`discarded: ${one.discarded}`]),
  ];
  return (
    <>
      <p class={style["facts"]}>
        <span class="quiet">
          <Text text={facts.join(" · ")} />
        </span>{" "}
        <a href={session.place.href(to)} onClick={session.place.onLink(to)} aria-label={`Open ${one.id} in its run`}>
          Open
        </a>
      </p>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {answer === undefined ? (
        <p class={style["text"]}>
          <Text text={one.preview} />
        </p>
      ) : (
        <Response answer={answer} />
      )}
    </>
  );
}

function Response({ answer }: { answer: MemberText }) {
  if (answer.error !== "")
    return (
      <p role="alert">
        <Text text={answer.error} />
      </p>
    );
  if (answer.pieces.length === 0) return <p class="quiet">No answer.</p>;
  return (
    <Box label="Response" class={style["text"]}>
      {answer.pieces.map((piece, at) => (
        // Pieces never change their order.
        <div key={at} class={piece.kind === "think" ? style["think"] : undefined}>
          {at > 0 && piece.turn !== answer.pieces[at - 1]?.turn && (
            <p class={style["role"]}>
              <Text text={piece.role} />
            </p>
          )}
          <Text text={(piece.common + piece.shared + piece.own).replace(EDGES, "")} />
        </div>
      ))}
      {answer.cut > 0 && <p class="quiet">{`… ${count(answer.cut, "more character")}: open it to read them`}</p>}
    </Box>
  );
}
