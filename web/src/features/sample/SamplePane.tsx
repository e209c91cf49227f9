/** The middle pane: one sample, from its header to its source. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { itemOf } from "../../state/list";
import { field } from "../../state/place";
import { isShown, page, refreshSample, sample, sampleError } from "../../state/sample";
import { Failure, Missing } from "../../ui/State";
import { Raw } from "../raw/Raw";
import { MarkedBar } from "../search/MarkedBar";
import { WholeText } from "../raw/WholeText";
import { FindBar } from "./FindBar";
import { Header } from "./Header";
import { MiniNav } from "./MiniNav";
import { Outline } from "./Outline";
import { Transcript } from "./Transcript";
import style from "./SamplePane.module.css";

/** The old sample stays for so long while the new one is on its way: shorter than a person takes for a flicker. */
const PATIENCE_MS = 150;

export function SamplePane() {
  const doc = useRef<HTMLDivElement>(null);
  const id = field.sample.value;
  const isLate = useLate(!isShown.value);
  const reply = sample.value;
  const canShow = reply !== null && (isShown.value || !isLate);
  const view = field.view.value;

  const from = page.value?.turn_from;
  useLayoutEffect(() => doc.current?.scrollTo(0, 0), [reply?.run, reply?.id, from]);

  if (sampleError.value !== null && !isShown.value) {
    return (
      <main class={style["pane"]} aria-label="Sample">
        <h1 class="hidden">Sample</h1>
        <Failure error={sampleError.value} what="This sample" again={() => void refreshSample()} />
        <MiniNav />
      </main>
    );
  }
  return (
    <main class={style["pane"]} data-scroll="pane" aria-label="Sample" aria-busy={!canShow && id !== null}>
      {canShow ? (
        <>
          <Header reply={reply} />
          {sampleError.value !== null && isShown.value && <Missing error={sampleError.value} again={() => void refreshSample()} />}
          {view === "transcript" && <MarkedBar />}
          {view === "transcript" && <FindBar />}
          <div class={style["doc"]} data-scroll="sample" ref={doc} key={view}>
            {view === "raw" ? <Raw /> : view === "text" ? <WholeText /> : <Transcript key={`${reply.run} ${reply.id}`} reply={reply} />}
          </div>
        </>
      ) : (
        id === null ? <h1 class="hidden">Samples</h1> : <Outline id={id} item={itemOf(id)} />
      )}
      <MiniNav />
    </main>
  );
}

/** True when something has been awaited for longer than `PATIENCE_MS`; what is awaited may change meanwhile. */
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
