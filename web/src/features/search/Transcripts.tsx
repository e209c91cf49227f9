/** After the samples: logged conversations that no sample shows, each with a link to the report of its step. */

import type { TranscriptHit } from "../../api/types.gen";
import { count, figure } from "../../lib/numbers/numbers";
import type { Results } from "../../state/search";
import { Text } from "../../ui/text/Text";
import { HitLink, OfRun } from "./HitLink";
import style from "./Search.module.css";

interface Props {
  results: Results;
  onKey: (event: KeyboardEvent) => void;
}

export function Transcripts({ results: { now, transcripts, request }, onKey }: Props) {
  if (transcripts.length === 0) return null;
  const result = now?.transcripts_found ?? transcripts.length;
  return (
    <section class={style["logged"]} aria-label="Logged conversations without a sample">
      <h2 class={style["begin"]}>
        Logged conversations{" "}
        <small class="quiet">
          that cannot be matched to a sample
          {result > transcripts.length ? `: ${figure(transcripts.length)} of ${count(result, "conversation")}` : ""}
        </small>
      </h2>
      <ol class={style["hits"]}>
        {transcripts.map((hit, i) => (
          <Transcript
            key={nameOfHit(hit)}
            hit={hit}
            isFirst={i === 0}
            hasRun={request.runs.length === 0}
            onKey={onKey}
          />
        ))}
      </ol>
    </section>
  );
}

const nameOfHit = ({ run, split, step, at }: TranscriptHit): string => `${run} ${split} ${step} report ${at}`;

function Transcript({
  hit,
  isFirst,
  hasRun,
  onKey,
}: {
  hit: TranscriptHit;
  isFirst: boolean;
  hasRun: boolean;
  onKey: Props["onKey"];
}) {
  const { run, split, step, at, title, snippets, more } = hit;
  return (
    <li class={style["hit"]}>
      <HitLink
        name={nameOfHit(hit)}
        to={{ page: "report", run, split, step, at }}
        isFirst={isFirst}
        snippets={snippets}
        more={more}
        onKey={onKey}
      >
        {hasRun && <OfRun id={run} />}
        <span>
          Report of <Text text={split} /> · step {figure(step)}
        </span>
        <span class="clip">
          <Text text={title} />
        </span>
      </HitLink>
    </li>
  );
}
