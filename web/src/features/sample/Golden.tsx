/** The golden answer: what the sample was judged against. */

import { Text } from "../../ui/Text";
import style from "./Golden.module.css";

export function Golden({ label }: { label: string }) {
  if (label === "") return null;
  return (
    <section class={style["golden"]} aria-label="Golden answer">
      <b>Golden</b>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a long answer scrolls, so the keyboard must reach it */}
      <div class={style["text"]} tabIndex={label.length > 800 ? 0 : undefined}>
        <Text text={label} at="label" />
      </div>
    </section>
  );
}
