/** The golden answer, which graded the sample, and the model's own answer. */

import { Text } from "../../../ui/text/Text";
import style from "./GoldenAnswer.module.css";

export function Golden({ label, answer = "" }: { label: string; answer?: string }) {
  if (label === "") return null;
  return (
    <section class={style["golden"]} aria-label="Golden answer">
      <b>Golden</b>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a long answer scrolls by keys */}
      <div class={style["text"]} tabIndex={label.length > 800 ? 0 : undefined}>
        <Text text={label} at="label" />
      </div>
      {answer !== "" && (
        <>
          <b class={style["given"]}>Answered</b>
          <div class={style["text"]} title="The model marked this as its answer">
            <Text text={answer} />
          </div>
        </>
      )}
    </section>
  );
}
