/**
 * The bar above a sample opened from a search: the marked text, buttons for its places and the other hits, and the way
 * back.
 */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import { NO_SEARCH } from "../../lib/address/address";
import { count, figure } from "../../lib/numbers/numbers";
import { Text } from "../../ui/text/Text";
import { toHit } from "./Hit";
import style from "./Search.module.css";

export function MarkedBar() {
  const session = useSession();
  const { search } = session.place.now.value;
  const current = session.search.marked.value;
  const [at, setAt] = useState({ key: "", place: 0 });
  if (search.text === "") return null;
  const spans = current?.spans ?? [];
  const here = current !== null && at.key === current.key ? at.place : 0;
  const step = (way: number): void => {
    const next = (here + way + spans.length) % spans.length;
    const span = spans[next];
    if (current === null || span === undefined) return;
    setAt({ key: current.key, place: next });
    void session.highlights.goTo(span);
  };
  const home = session.search.results.value?.home ?? { page: "search" as const };
  const [before, after] = [session.search.besides(-1), session.search.besides(1)];
  return (
    <div class={style["marked"]} role="group" aria-label="Search">
      <a class="action" href={session.place.href(home)} onClick={session.place.onLink(home)}>
        ‹ Results
      </a>
      <span class={`clip ${style["what"]}`}>
        <Text text={search.text} />
      </span>
      <span class="quiet" role="status">
        {current === null
          ? ""
          : spans.length === 0
            ? "not in the visible texts"
            : `${figure(here + 1)} of ${count(spans.length, "place")}${current.more ? " and more" : ""}`}
      </span>
      {spans.length > 0 && (
        <>
          <button
            type="button"
            class="action"
            aria-label="Previous place"
            title="Previous place"
            onClick={() => step(-1)}
          >
            ↑
          </button>
          <button type="button" class="action" aria-label="Next place" title="Next place" onClick={() => step(1)}>
            ↓
          </button>
        </>
      )}
      {before !== null && (
        <a
          class="action"
          href={session.place.href(toHit(session, before))}
          onClick={session.place.onLink(toHit(session, before))}
        >
          Previous hit
        </a>
      )}
      {after !== null && (
        <a
          class="action"
          href={session.place.href(toHit(session, after))}
          onClick={session.place.onLink(toHit(session, after))}
        >
          Next hit
        </a>
      )}
      <button
        type="button"
        class={`action ${style["end"]}`}
        aria-label="Unmark"
        title="Unmark"
        onClick={() => session.place.go({ search: NO_SEARCH }, "replace")}
      >
        ×
      </button>
    </div>
  );
}
