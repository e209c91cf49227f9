/** The bar: which run, split and step, and how live it all is. */

import { onLink, href, place } from "../../state/place";
import { run } from "../../state/runs";
import { IndexProgress } from "../live/IndexProgress";
import { LiveDot } from "../live/LiveDot";
import { News } from "../live/News";
import { RunPicker } from "../runs/RunPicker";
import { Splits } from "../runs/Splits";
import { StepNav } from "../steps/StepNav";
import style from "./TopBar.module.css";

export function TopBar() {
  const { page } = place.value;
  const isReading = (page === "rollouts" || page === "report") && run.value !== null;
  return (
    <header class={style["bar"]}>
      <a class={style["mark"]} href={href({ page: "runs", run: null })} onClick={onLink({ page: "runs", run: null })} title="All runs">
        <span aria-hidden="true">ro</span>
        <span class="hidden">All runs</span>
      </a>
      <RunPicker />
      {isReading && <Splits />}
      {isReading && <StepNav />}
      <span class={style["space"]} />
      {isReading && <News />}
      {run.value !== null && <LiveDot />}
      <IndexProgress />
    </header>
  );
}
