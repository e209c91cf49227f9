/** The name of a run beside its colour. */

import type { RunItem } from "../../../api/types.gen";
import { harmless } from "../../../lib/text/invisible";
import { colourOf, nameOf } from "../../../state/marks";
import { Name } from "../../../ui/text/Name";
import style from "./AddRun.module.css";

export function RunName({ item }: { item: RunItem }) {
  return (
    <span class={style["run"]} title={harmless(item.path)}>
      <i style={{ background: `var(--run-${colourOf(item.id)})` }} />
      <span>
        <Name text={nameOf(item)} />
      </span>
    </span>
  );
}
