/** A match as a link: its subject, and the text around its places. */

import { useSession } from "../../state/useSession";
import type { ComponentChildren } from "preact";
import type { Snippet as SnippetRecord } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { colourOf, nameOf } from "../../state/marks";
import { runOf } from "../../state/runs";
import { returnPoint } from "../../state/search";
import { Text } from "../../ui/text/Text";
import style from "./Search.module.css";

interface Props {
  /** Identifies the hit, so that Back returns to it. */
  name: string;
  to: Partial<Place>;
  isFirst: boolean;
  snippets: readonly SnippetRecord[];
  /** True if it has more places than snippets. */
  more: boolean;
  onKey: (event: KeyboardEvent) => void;
  /** The subject of the hit. */
  children: ComponentChildren;
}

export function HitLink({ name, to, isFirst, snippets, more, onKey, children }: Props) {
  const session = useSession();
  const follow = session.place.onLink(to);
  return (
    <a
      class={style["link"]}
      href={session.place.href(to)}
      data-hit={name}
      tabIndex={isFirst || returnPoint.hit === name ? 0 : -1}
      onKeyDown={onKey}
      onFocus={(event) => event.currentTarget.scrollIntoView({ block: "nearest" })}
      onClick={(event) => {
        returnPoint.hit = name;
        follow(event);
      }}
    >
      <span class={style["where"]}>
        {children}
        {more && <span class="quiet">and more</span>}
      </span>
      {snippets.map((snippet, i) => (
        // The snippets of a hit never change their order, so their index identifies them.
        <Snippet key={i} snippet={snippet} />
      ))}
    </a>
  );
}

/** The run of the hit, if the search covers several. */
export function OfRun({ id }: { id: string }) {
  const item = runOf(id);
  return (
    <span class={style["of"]}>
      <i style={{ background: `var(--run-${colourOf(id)})` }} />
      <Text text={item === undefined ? id : nameOf(item)} />
    </span>
  );
}

/** The text around a place, which is marked. */
function Snippet({ snippet: { role, pieces, is_start: isStart, is_end: isEnd } }: { snippet: SnippetRecord }) {
  return (
    <span class={style["snippet"]}>
      <span class={style["role"]}>
        <Text text={role} />
      </span>
      <span class={style["text"]}>
        {!isStart && "…"}
        {pieces.map((piece, i) =>
          i % 2 === 1 ? (
            <mark key={i}>
              <Text text={piece} />
            </mark>
          ) : (
            <span key={i}>
              <Text text={piece} />
            </span>
          ),
        )}
        {!isEnd && "…"}
      </span>
    </span>
  );
}
