/** The middle pane: one sample, from its header to its source. */

import { useSession } from "../../state/useSession";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ungraded } from "../../lib/sample/blind";
import { Failure, Missing } from "../../ui/layout/EmptyState";
import { PromptStrip } from "../prompt";
import { Raw, WholeText } from "../raw";
import { MarkedBar } from "../search";
import { TokensPane } from "../tokens";
import { FindBar } from "./find/FindBar";
import { Header } from "./Header";
import { MiniNav } from "./MiniNav";
import { Outline } from "./Outline";
import { Transcript } from "./transcript/Transcript";
import style from "./SamplePane.module.css";

/** How long the old sample stays while the new one is loading: short enough not to look like a delay. */
const PATIENCE_MS = 150;

export function SamplePane() {
  const session = useSession();
  const doc = useRef<HTMLDivElement>(null);
  const id = session.place.field.sample.value;
  const isLate = useLate(!session.sample.isShown.value);
  const isBlind = session.judging.isBlind.value;
  const now = session.sample.now.value;
  const reply = useMemo(() => (now !== null && isBlind ? ungraded(now) : now), [now, isBlind]);
  const canShow = reply !== null && (session.sample.isShown.value || !isLate);
  const view = session.place.field.view.value;

  const from = session.sample.page.value?.turn_from;
  useLayoutEffect(() => {
    // Along the steps of a prompt, the scroll position stays.
    if (!session.prompt.isAlong.peek()) doc.current?.scrollTo(0, 0);
  }, [session, reply?.run, reply?.id, from]);

  if (session.sample.error.value !== null && !session.sample.isShown.value) {
    return (
      <main class={style["pane"]} aria-label="Sample">
        <h1 class="hidden">Sample</h1>
        <Failure error={session.sample.error.value} what="This sample" again={() => void session.sample.refresh()} />
        <MiniNav />
      </main>
    );
  }
  return (
    <main
      class={`${style["pane"]} ${view === "transcript" ? style["reading"] : ""}`}
      data-scroll="pane"
      aria-label="Sample"
      aria-busy={!canShow && id !== null}
    >
      {!isBlind && <PromptStrip />}
      {canShow ? (
        <>
          <Header reply={reply} />
          {session.sample.error.value !== null && session.sample.isShown.value && (
            <Missing error={session.sample.error.value} again={() => void session.sample.refresh()} />
          )}
          {view === "transcript" && <MarkedBar />}
          {view === "transcript" && <FindBar />}
          {view === "tokens" ? (
            <>
              <TokensPane key={`${reply.run} ${reply.id}`} />
              {session.place.field.tokensAs.value === "table" && (
                <div class={`${style["doc"]} ${style["beneath"]}`} data-scroll="sample" ref={doc}>
                  <Transcript key={`${reply.run} ${reply.id}`} reply={reply} isBelow />
                </div>
              )}
            </>
          ) : (
            <div class={style["doc"]} data-scroll="sample" ref={doc} key={view}>
              {view === "raw" ? (
                <Raw />
              ) : view === "text" ? (
                <WholeText />
              ) : (
                <Transcript key={`${reply.run} ${reply.id}`} reply={reply} />
              )}
            </div>
          )}
        </>
      ) : id === null ? (
        <h1 class="hidden">Samples</h1>
      ) : (
        <Outline id={id} item={isBlind ? null : session.list.itemOf(id)} />
      )}
      {session.judging.queue.value === null && <MiniNav />}
    </main>
  );
}

/** True when loading has taken longer than `PATIENCE_MS`, even if the request changes in the meantime. */
function useLate(isAwaited: boolean): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    if (!isAwaited) return undefined;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [isAwaited]);
  return isAwaited && isLate;
}
