/** Above a sample that was searched: what is marked in it, to the places one after another, to the other hits, and back. */

import { useState } from "preact/hooks";
import { NO_SEARCH } from "../../lib/address";
import { count, figure } from "../../lib/numbers";
import { goTo } from "../../state/highlights";
import { go, href, onLink, place } from "../../state/place";
import { besides, marked, results } from "../../state/search";
import { Text } from "../../ui/Text";
import { toHit } from "./Hit";
import style from "./Search.module.css";

export function MarkedBar() {
  const { search } = place.value;
  const held = marked.value;
  const [at, setAt] = useState({ key: "", place: 0 });
  if (search.text === "") return null;
  const spans = held?.spans ?? [];
  const here = held !== null && at.key === held.key ? at.place : 0;
  const step = (way: number): void => {
    const next = (here + way + spans.length) % spans.length;
    const span = spans[next];
    if (held === null || span === undefined) return;
    setAt({ key: held.key, place: next });
    void goTo(span);
  };
  const home = results.value?.home ?? { page: "search" as const };
  const [before, after] = [besides(-1), besides(1)];
  return (
    <div class={style["marked"]} role="group" aria-label="Search">
      <a class="action" href={href(home)} onClick={onLink(home)}>
        ‹ Results
      </a>
      <span class={`clip ${style["what"]}`}><Text text={search.text} /></span>
      <span class="quiet" role="status">
        {held === null ? "" : spans.length === 0 ? "not in the texts shown" : `${figure(here + 1)} of ${count(spans.length, "place")}${held.more ? " and more" : ""}`}
      </span>
      {spans.length > 0 && (
        <>
          <button type="button" class="action" aria-label="Previous place" title="Previous place" onClick={() => step(-1)}>↑</button>
          <button type="button" class="action" aria-label="Next place" title="Next place" onClick={() => step(1)}>↓</button>
        </>
      )}
      {before !== null && <a class="action" href={href(toHit(before))} onClick={onLink(toHit(before))}>Previous hit</a>}
      {after !== null && <a class="action" href={href(toHit(after))} onClick={onLink(toHit(after))}>Next hit</a>}
      <button type="button" class={`action ${style["end"]}`} aria-label="Unmark" title="Unmark" onClick={() => go({ search: NO_SEARCH }, "replace")}>
        ×
      </button>
    </div>
  );
}
