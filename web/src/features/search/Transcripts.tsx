/** Behind the samples: conversations that a trainer logged and that no sample shows, each a way into the report of its step. */

import type { TranscriptHit } from "../../api/types.gen";
import { count, figure } from "../../lib/numbers";
import { colourOf, nameOf } from "../../state/marks";
import { go, href } from "../../state/place";
import { runs } from "../../state/runs";
import { left, type Results } from "../../state/search";
import { Text } from "../../ui/Text";
import { Snippet } from "./Hit";
import style from "./Search.module.css";

interface Props {
  held: Results;
  onKey: (event: KeyboardEvent) => void;
}

export function Transcripts({ held: { now, transcripts, asked }, onKey }: Props) {
  if (transcripts.length === 0) return null;
  const found = now?.transcripts_found ?? transcripts.length;
  return (
    <section class={style["logged"]} aria-label="Logged conversations of no sample">
      <h2 class={style["begin"]}>
        Logged conversations <small class="quiet">that belong to no sample for certain{found > transcripts.length ? `: ${figure(transcripts.length)} of ${count(found, "conversation")}` : ""}</small>
      </h2>
      <ol class={style["hits"]}>
        {transcripts.map((hit, i) => (
          <Transcript key={nameOfHit(hit)} hit={hit} isFirst={i === 0} hasRun={asked.runs.length === 0} onKey={onKey} />
        ))}
      </ol>
    </section>
  );
}

const nameOfHit = ({ run, split, step, at }: TranscriptHit): string => `${run} ${split} ${step} report ${at}`;

function Transcript({ hit, isFirst, hasRun, onKey }: { hit: TranscriptHit; isFirst: boolean; hasRun: boolean; onKey: Props["onKey"] }) {
  const { run, split, step, at, title, snippets, more } = hit;
  const of = runs.value?.find(({ id }) => id === run);
  const to = { page: "report" as const, run, split, step, at };
  const name = nameOfHit(hit);
  return (
    <li class={style["hit"]}>
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
          {hasRun && (
            <span class={style["of"]}>
              <i style={{ background: `var(--run-${colourOf(run)})` }} />
              <Text text={of === undefined ? run : nameOf(of)} />
            </span>
          )}
          <span>Report of <Text text={split} /> · step {figure(step)}</span>
          <span class="clip"><Text text={title} /></span>
          {more && <span class="quiet">and more</span>}
        </span>
        {snippets.map((snippet, i) => (
          // oxlint-disable-next-line react/no-array-index-key
          <Snippet key={i} snippet={snippet} />
        ))}
      </a>
    </li>
  );
}
