/** The main page: the samples of a step, one of them, and the curves of the run. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import { useState } from "preact/hooks";
import { LEFT, RIGHT, choose, settings } from "../../state/browser/settings";
import { Divider } from "../../ui/layout/Divider";
import { NARROW, ROOMY, SLIM, useMatch } from "../../ui/hooks/useMatch";
import { Charts } from "../pane";
import { BriefBand } from "../brief";
import { JudgingBar } from "../judging";
import { Reasons } from "../discarded";
import { GroupPane } from "../group";
import { List, ValueMenu } from "../list";
import { RunAbout } from "../runs";
import { SamplePane } from "../sample";
import { asideTitle, TokensAside } from "../tokens";
import style from "./Rollouts.module.css";

export function Rollouts() {
  const session = useSession();
  const { leftOpen, leftWidth, rightWidth } = settings.value;
  const isNarrow = useMatch(NARROW);
  const isSlim = useMatch(SLIM);
  const isRoomy = useMatch(ROOMY);
  const rightOpen = settings.value.rightOpen ?? isRoomy;
  const hasList = leftOpen || isNarrow;
  // With room for one pane and without a sample to show, the list explains why.
  const isList =
    session.place.field.list.value || (isNarrow && session.place.field.sample.value === null && hasNothing(session));
  const isTable =
    session.place.field.mode.value === "table" && leftOpen && session.view.isWide.value && (isList || !isNarrow);
  const isTokens = session.place.field.view.value === "tokens" && !session.tokens.isEmpty.value;
  const aside = isTokens ? asideTitle(session.place.field.tokensAs.value) : "Charts";
  const isAlone = isTable || (isNarrow && isList);
  const queue = session.judging.queue.value;
  if (queue?.isCheck === true)
    return (
      <>
        <JudgingBar queue={queue} />
        <div class={style["panes"]}>
          <SamplePane />
        </div>
      </>
    );
  const panes = (
    <div class={`${style["panes"]} ${isList ? style["list"] : ""} ${isTable ? style["table"] : ""}`}>
      <ValueMenu />
      {hasList ? (
        <div
          class={style["left"]}
          style={{ width: `${leftWidth}px` }}
          role={isAlone ? "main" : "complementary"}
          aria-label={session.place.field.discarded.value ? "Discarded samples" : "Samples"}
        >
          {isAlone && <h1 class="hidden">{isTable ? "Table of samples" : "Samples"}</h1>}
          <List />
          {session.place.field.discarded.value && (
            <details class={style["thin"]}>
              <summary>Reasons</summary>
              <Reasons />
            </details>
          )}
          {isSlim && <Curves />}
          {!isTable && (
            <Divider
              label="Width of the list"
              width={leftWidth}
              limits={LEFT}
              choose={(width) => choose({ leftWidth: width })}
            />
          )}
        </div>
      ) : (
        <Folded label="Show the list of samples" side="left" open={() => choose({ leftOpen: true })} />
      )}
      {session.place.field.view.value === "group" ? <GroupPane /> : <SamplePane />}
      {isSlim ? null : rightOpen ? (
        <aside class={style["right"]} style={{ width: `${rightWidth}px` }} aria-label={aside}>
          {session.place.field.discarded.value && !isTokens && <Reasons />}
          {isTokens ? <TokensAside /> : <Charts />}
          <Divider
            label={`Width of the ${aside.toLowerCase()}`}
            width={rightWidth}
            limits={RIGHT}
            way={-1}
            choose={(width) => choose({ rightWidth: width })}
          />
        </aside>
      ) : (
        <Folded label={`Show the ${aside.toLowerCase()}`} side="right" open={() => choose({ rightOpen: true })} />
      )}
    </div>
  );
  return (
    <>
      {queue === null && <RunAbout />}
      {queue === null ? <BriefBand /> : <JudgingBar queue={queue} />}
      {panes}
    </>
  );
}

/** The curves, if there is no room for them beside the sample. */
function Curves() {
  const [isOpen, open] = useState(false);
  return (
    <details class={style["thin"]} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Charts</summary>
      {isOpen && <Charts isAside={false} />}
    </details>
  );
}

/** True if no sample will come: none was read, the list is empty, or it cannot be loaded. */
function hasNothing(session: Session): boolean {
  return (
    session.list.now.value?.total === 0 ||
    session.list.error.value !== null ||
    session.run.now.value?.splits.length === 0
  );
}

/** The remaining strip of a folded pane. */
function Folded({ label, side, open }: { label: string; side: "left" | "right"; open: () => void }) {
  return (
    <button type="button" class={`${style["folded"]} ${style[side]}`} aria-label={label} title={label} onClick={open}>
      {side === "left" ? "›" : "‹"}
    </button>
  );
}
