/** All steps with their number of samples and mean reward; typing narrows them down. */

import { useSession } from "../../state/useSession";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { figure } from "../../lib/numbers/numbers";
import { Finder, rowId } from "../../ui/controls/Finder";
import { Score } from "../../ui/text/Score";
import { useVirtual } from "../../ui/hooks/useVirtual";
import style from "./StepList.module.css";

const ROW_PX = 28;

export function StepList({ close }: { close: () => void }) {
  const session = useSession();
  const [text, setText] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const reply = session.steps.reply.value;
  const digits = text.replaceAll(/[\s,]/g, "");
  const results = useMemo(
    () => (reply?.steps ?? []).flatMap((step, i) => (String(step).includes(digits) ? [i] : [])),
    [reply, digits],
  );
  const current = results.findIndex((i) => reply?.steps[i] === session.place.field.step.value);
  const [marked, mark] = useState(current);
  const virtual = useVirtual({ count: results.length, scroller, height: () => ROW_PX, shape: results });

  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "center" });
    // Once, when the list opens: later it stays where the reader scrolled it.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const choose = (row: number): void => {
    const step = reply?.steps[results[row] ?? -1];
    if (step === undefined) return;
    close();
    session.place.go({ step });
  };
  const move = (row: number): void => {
    mark(row);
    virtual.scrollToIndex(row, { align: "auto" });
  };

  return (
    <div class={style["list"]}>
      <Finder
        label="Find a step"
        placeholder={`Find among ${figure(reply?.steps.length ?? 0)} steps`}
        class={style["field"]}
        inputMode="numeric"
        list="steps"
        count={results.length}
        mark={move}
        {...{ text, setText, marked, choose }}
      />
      <div class={style["heads"]} aria-hidden="true">
        <span>Step</span>
        <span>Samples</span>
        <span>Mean reward</span>
      </div>
      <div class={style["rows"]} ref={scroller}>
        {results.length === 0 && <p class={style["none"]}>No step matches.</p>}
        <div
          id="steps"
          role="listbox"
          aria-label="Steps"
          class={style["space"]}
          style={{ height: `${virtual.getTotalSize()}px` }}
        >
          {virtual.getVirtualItems().map(({ index, start }) => {
            const at = results[index] ?? -1;
            return (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field above has focus and keys
              <div
                key={at}
                id={rowId("steps", index)}
                role="option"
                tabIndex={-1}
                aria-selected={index === current}
                class={`${style["row"]} ${index === marked ? style["marked"] : ""}`}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => choose(index)}
              >
                <span>{figure(reply?.steps[at])}</span>
                <span>{figure(reply?.samples[at])}</span>
                <Score value={reply?.reward_mean[at] ?? null} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
