/** The bar: which run, split and step, and how live it all is. */

import { field, href, onLink } from "../../state/place";
import { run } from "../../state/runs";
import { turnTheme } from "../../state/settings";
import { Icon } from "../../ui/Icon";
import { useScheme } from "../charts/useScheme";
import { IndexProgress } from "../live/IndexProgress";
import { LiveDot } from "../live/LiveDot";
import { News } from "../live/News";
import { paletteOpen } from "../palette/palette";
import { RunPicker } from "../runs/RunPicker";
import { Splits } from "../runs/Splits";
import { StepNav } from "../steps/StepNav";
import style from "./TopBar.module.css";

const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "\u2318" : "Ctrl ";

export function TopBar() {
  const page = field.page.value;
  const isDark = useScheme().startsWith("dark");
  const isReading = (page === "rollouts" || page === "report") && run.value !== null;
  return (
    <header class={style["bar"]}>
      <a class={style["mark"]} href={href({ page: "runs", run: null })} onClick={onLink({ page: "runs", run: null })} title="All runs">
        <span aria-hidden="true">ro<span class={style["rest"]}>lloupe</span></span>
        <span class="hidden">All runs</span>
      </a>
      <div class={style["run"]}>
        <RunPicker />
      </div>
      {isReading && <Splits />}
      {isReading && <StepNav />}
      <span class={style["space"]} />
      {isReading && <News />}
      {run.value !== null && <LiveDot />}
      <IndexProgress />
      <button type="button" class={style["find"]} aria-label={`${COMMAND}K: find anything by name`} title="Find anything by name" onClick={() => (paletteOpen.value = true)}>
        <kbd>{COMMAND}K</kbd>
      </button>
      <button type="button" class={style["theme"]} aria-label="Light or dark" title="Light or dark" onClick={turnTheme}>
        <Icon sign={isDark ? "light" : "dark"} size={16} />
      </button>
    </header>
  );
}
