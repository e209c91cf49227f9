/** The bar: run, split and step, and the state of the connection. */

import { useSession } from "../../state/useSession";
import { hasStep } from "../../lib/address/address";
import { turnTheme } from "../../state/browser/settings";
import { isTeam, role, user } from "../../state/team/people";
import { Icon } from "../../ui/controls/Icon";
import { useScheme } from "../../ui/hooks/useScheme";
import { Text } from "../../ui/text/Text";
import { IndexProgress, LiveDot, News } from "../../features/live";
import { paletteOpen } from "../../features/palette";
import { RunPicker, Splits } from "../../features/runs";
import { StepNav } from "../../features/steps";
import style from "./TopBar.module.css";

const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "\u2318" : "Ctrl ";

export function TopBar() {
  const session = useSession();
  const page = session.place.field.page.value;
  const isDark = useScheme().startsWith("dark");
  const isReading = hasStep(page) && session.run.now.value !== null;
  return (
    <header class={style["bar"]}>
      <a
        class={style["mark"]}
        href={session.place.href({ page: "runs", run: null })}
        onClick={session.place.onLink({ page: "runs", run: null })}
        title="All runs"
      >
        <span aria-hidden="true">
          ro<span class={style["rest"]}>lloupe</span>
        </span>
        <span class="hidden">All runs</span>
      </a>
      <div class={style["run"]}>
        <RunPicker />
      </div>
      {isReading && <Splits />}
      {isReading && <StepNav />}
      <span class={style["space"]} />
      {isReading && <News />}
      {session.run.now.value !== null && <LiveDot />}
      <IndexProgress />
      <button
        type="button"
        class={style["find"]}
        aria-label={`${COMMAND}K: find anything by name`}
        title="Find anything by name"
        onClick={() => (paletteOpen.value = true)}
      >
        <kbd>{COMMAND}K</kbd>
      </button>
      {isTeam.value && (
        <span class={style["who"]} title={`${user.value}: ${role.value}`}>
          <Text text={user.value} />
        </span>
      )}
      <button type="button" class={style["theme"]} aria-label="Light or dark" title="Light or dark" onClick={turnTheme}>
        <Icon sign={isDark ? "light" : "dark"} size={16} />
      </button>
    </header>
  );
}
