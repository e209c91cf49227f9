/** A sample in which something was found: where it is, and what stands around the place. */

import type { SearchHit, SnippetView } from "../../api/types.gen";
import { figure, score } from "../../lib/numbers";
import { colourOf, nameOf } from "../../state/marks";
import { go, href, place } from "../../state/place";
import { runs } from "../../state/runs";
import { left } from "../../state/search";
import { Text } from "../../ui/Text";
import { ReasonBadge } from "../discarded/ReasonBadge";
import style from "./Search.module.css";

interface Props {
  hit: SearchHit;
  /** The one before is of another step. */
  isNewStep: boolean;
  isFirst: boolean;
  hasRun: boolean;
  onKey: (event: KeyboardEvent) => void;
}

export const toHit = ({ run, id, split, step, discarded }: SearchHit) => {
  const { search, where } = place.value;
  // The list beside it is of its step, however many were searched.
  return { page: "rollouts" as const, run, split, step, sample: id, extent: "step" as const, list: false, discarded: discarded !== "", search, where: run === place.value.run ? where : "" };
};

export function Hit({ hit, isNewStep, isFirst, hasRun, onKey }: Props) {
  const of = runs.value?.find(({ id }) => id === hit.run);
  const to = toHit(hit);
  const name = `${hit.run} ${hit.id}`;
  return (
    <li class={style["hit"]}>
      {isNewStep && (
        <h2 class={style["step"]}>
          {hasRun && (
            <span class={style["of"]}>
              <i style={{ background: `var(--run-${colourOf(hit.run)})` }} />
              <Text text={of === undefined ? hit.run : nameOf(of)} />
            </span>
          )}
          <Text text={hit.split} /> · step {figure(hit.step)}
        </h2>
      )}
      <a
        class={style["link"]}
        href={href(to)}
        data-hit={name}
        tabIndex={isFirst || left.hit === name ? 0 : -1}
        onKeyDown={onKey}
        onFocus={(event) => event.currentTarget.scrollIntoView({ block: "nearest" })}
        onClick={(event) => {
          left.hit = name;
          if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          go(to);
        }}
      >
        <span class={style["where"]}>
          <code class="clip"><Text text={`${hit.group}/${hit.index}`} /></code>
          <span class="quiet">reward <b>{score(hit.reward, "none")}</b></span>
          {hit.status !== "completed" && hit.status !== "unknown" && <span class={style["status"]}><Text text={hit.status} /></span>}
          {hit.discarded !== "" && <ReasonBadge reason={hit.discarded} />}
          {hit.more && <span class="quiet">and more</span>}
        </span>
        {hit.snippets.map((snippet, i) => (
          // oxlint-disable-next-line react/no-array-index-key
          <Snippet key={i} snippet={snippet} />
        ))}
      </a>
    </li>
  );
}

/** What stands around a place, the place marked. */
export function Snippet({ snippet: { role, pieces, is_start: isStart, is_end: isEnd } }: { snippet: SnippetView }) {
  return (
    <span class={style["snippet"]}>
      <span class={style["role"]}><Text text={role} /></span>
      <span class={style["text"]}>
        {!isStart && "…"}
        {pieces.map((piece, i) =>
          // oxlint-disable-next-line react/no-array-index-key
          i % 2 === 1 ? <mark key={i}><Text text={piece} /></mark> : <span key={i}><Text text={piece} /></span>,
        )}
        {!isEnd && "…"}
      </span>
    </span>
  );
}
