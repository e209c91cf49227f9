/** The page to read on: the samples of a step, one of them, and the curve of the run. */

import { LEFT, RIGHT, choose, settings } from "../../state/settings";
import { place } from "../../state/place";
import { isWide } from "../../state/view";
import { Divider } from "../../ui/Divider";
import { Charts } from "../charts/Charts";
import { Reasons } from "../discarded/Reasons";
import { GroupPane } from "../group/GroupPane";
import { List } from "../list/List";
import { ValueMenu } from "../list/ValueMenu";
import { SamplePane } from "../sample/SamplePane";
import style from "./Rollouts.module.css";

export function Rollouts() {
  const { leftOpen, rightOpen, leftWidth, rightWidth } = settings.value;
  const isTable = place.value.mode === "table" && leftOpen && isWide.value;
  return (
    <div class={`${style["panes"]} ${place.value.list ? style["list"] : ""} ${isTable ? style["table"] : ""}`}>
      {!leftOpen && <ValueMenu />}
      {leftOpen ? (
        <div class={style["left"]} style={{ width: `${leftWidth}px` }} role={isTable ? "main" : "complementary"} aria-label={place.value.discarded ? "Samples that were not trained on" : "Samples"}>
          {isTable && <h1 class="hidden">Table of samples</h1>}
          <List />
          <ValueMenu />
          {place.value.discarded && (
            <details class={style["thin"]}>
              <summary>Reasons</summary>
              <Reasons />
            </details>
          )}
          <Divider label="Width of the list" width={leftWidth} limits={LEFT} choose={(width) => choose({ leftWidth: width })} />
        </div>
      ) : (
        <Folded label="Show the list of samples" side="left" open={() => choose({ leftOpen: true })} />
      )}
      {place.value.view === "group" ? <GroupPane /> : <SamplePane />}
      {rightOpen ? (
        <aside class={`${style["right"]} ${style["wide"]}`} style={{ width: `${rightWidth}px` }} aria-label="Charts">
          {place.value.discarded && <Reasons />}
          <Charts />
          <Divider label="Width of the charts" width={rightWidth} limits={RIGHT} way={-1} choose={(width) => choose({ rightWidth: width })} />
        </aside>
      ) : (
        <Folded label="Show the charts" side="right" open={() => choose({ rightOpen: true })} />
      )}
    </div>
  );
}

/** The strip that is left of a folded pane. */
function Folded({ label, side, open }: { label: string; side: "left" | "right"; open: () => void }) {
  return (
    <button type="button" class={`${style["folded"]} ${style[side]} ${side === "right" ? style["wide"] : ""}`} aria-label={label} title={label} onClick={open}>
      {side === "left" ? "›" : "‹"}
    </button>
  );
}
