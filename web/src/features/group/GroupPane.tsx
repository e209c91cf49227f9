/** The middle pane over a group: its samples side by side, as a table, or two of them word by word. */

import { again, answers, answersError, groupId, isShown } from "../../state/group";
import { field } from "../../state/place";
import { Failure, Missing, State } from "../../ui/State";
import { Columns } from "./Columns";
import { Difference } from "./Difference";
import { GroupHeader } from "./GroupHeader";
import { GroupTable } from "./GroupTable";
import { MemberNav } from "./MemberNav";
import { Gist, Prompt } from "./Prompt";
import { SamePrompt } from "./SamePrompt";
import style from "./GroupPane.module.css";

export function GroupPane() {
  const isTable = field.isTable.value;
  const isDiff = field.isDiff.value;
  const reply = isShown.value ? answers.value : null;
  const isFailed = answersError.value !== null && reply === null;
  const group = groupId.value;
  return (
    <main class={style["pane"]} aria-label="Group" aria-busy={reply === null && !isTable && !isFailed && group !== null}>
      <div class={style["body"]}>
        <GroupHeader />
        {group === null && <State title="No group is looked at"><p>Choose a sample in the list.</p></State>}
        {group !== null && (
          <>
            <div class={style["above"]}>
              {reply === null ? <Gist /> : <Prompt key={group} reply={reply} />}
              <SamePrompt />
            </div>
            {isTable && <GroupTable key={group} />}
            {!isTable && isFailed && answersError.value !== null && <Failure error={answersError.value} what="The answers of this group" again={again} />}
            {!isTable && reply !== null && answersError.value !== null && <Missing error={answersError.value} again={again} />}
            {!isTable && reply !== null && (isDiff ? <Difference reply={reply} /> : <Columns key={group} reply={reply} />)}
          </>
        )}
      </div>
      <MemberNav />
    </main>
  );
}
