/** The search page: a field, the progress, and the results by step; counts beside them. */

import { useSession } from "../../state/useSession";
import { useLayoutEffect, useRef } from "preact/hooks";
import { returnPoint } from "../../state/search";
import { sentence } from "../../lib/text/sentence";
import { Examples } from "./Examples";
import { Facets } from "./Facets";
import { Hit } from "./Hit";
import { SearchForm, SEARCH_ID } from "./SearchForm";
import { SearchProgress } from "./SearchProgress";
import { Transcripts } from "./Transcripts";
import style from "./Search.module.css";

/** The distance from the end at which more results are loaded. */
const AHEAD_PX = 800;
const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  Home: () => 0,
  End: (_, last) => last,
};

export function SearchPage() {
  const session = useSession();
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const current = session.search.results.value;
  const hits = current?.hits ?? [];
  const links = (): HTMLAnchorElement[] => [
    ...(list.current?.querySelectorAll<HTMLAnchorElement>("a[data-hit]") ?? []),
  ];

  // Text typed right away belongs to the field. After Back from a sample, the results are where they were left, and the
  // opened hit has the focus.
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, returnPoint.scrollTop);
    links()
      .find((link) => link.dataset["hit"] === returnPoint.hit)
      ?.focus({ preventScroll: true });
    if (session.place.now.peek().search.text === "" || session.search.results.peek() === null)
      document.querySelector<HTMLElement>(`#${SEARCH_ID}`)?.focus();
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const ahead = (): void => {
    const page = scroller.current;
    if (page === null) return;
    if (session.search.results.peek() !== null) returnPoint.scrollTop = page.scrollTop;
    if (page.scrollHeight - page.scrollTop - page.clientHeight < AHEAD_PX) void session.search.more();
  };
  const move = (event: KeyboardEvent): void => {
    const to = MOVES[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    const all = links();
    const at = all.findIndex((link) => link === document.activeElement);
    const next = at < 0 ? undefined : all[Math.max(0, Math.min(all.length - 1, to(at, all.length - 1)))];
    event.preventDefault();
    if (at === 0 && event.key === "ArrowUp") document.querySelector<HTMLElement>(`#${SEARCH_ID}`)?.focus();
    else next?.focus();
  };

  let before = "";
  return (
    <main class={style["page"]} ref={scroller} onScroll={ahead}>
      <h1 class="hidden">Search</h1>
      <SearchForm toResults={() => links()[0]?.focus()} />
      {current === null ? (
        <Examples />
      ) : current.error !== null && current.now === null ? (
        <p class={style["error"]} role="alert">
          {sentence(current.error.message)} {sentence(current.error.next)}
        </p>
      ) : (
        <div class={style["found"]}>
          <div class={style["results"]} ref={list}>
            <SearchProgress results={current} />
            <ol class={style["hits"]}>
              {hits.map((hit, i) => {
                const scope = `${hit.run}\n${hit.split}\n${hit.step}`;
                const isNew = scope !== before;
                before = scope;
                // Hits never change their order: if a step occurs again, it has another heading.
                return (
                  <Hit
                    key={`${hit.run} ${hit.id}`}
                    hit={hit}
                    isNewStep={isNew}
                    isFirst={i === 0}
                    hasRun={current.request.runs.length === 0}
                    onKey={move}
                  />
                );
              })}
            </ol>
            {current.now !== null && hits.length < current.now.listed && (
              <p class={style["more"]}>
                <button type="button" class="button" onClick={() => void session.search.more()}>
                  Show more
                </button>
              </p>
            )}
            <Transcripts results={current} onKey={move} />
          </div>
          <Facets results={current} />
        </div>
      )}
    </main>
  );
}
